/** Tell the host the time zone of this browser: all pages write their times in it, and read typed ones. */

const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
const told = `zone=${timeZone}`;
if (timeZone && !document.cookie.split("; ").includes(told)) document.cookie = `${told}; path=/; max-age=31536000; samesite=lax`;
