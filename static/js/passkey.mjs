// A browser without passkeys, or without scripts, is not offered one.
const button = document.getElementById("passkey_login")
if (button && window.PublicKeyCredential) button.hidden = false
