"""The mail server of EMAIL_URL."""

import smtplib
import ssl

from django.conf import settings
from django.core.mail import get_connection

from agui_host.doctor.findings import Fault, check

SMTP = "django.core.mail.backends.smtp.EmailBackend"


@check("mail")
def mail() -> str | list[Fault]:
    """Whether it accepts us. Without EMAIL_URL mails go to the log, which is no fault."""
    if settings.EMAIL_BACKEND != SMTP:
        return "none; mails go to the log"
    place = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    try:
        with get_connection():
            pass
    except smtplib.SMTPAuthenticationError:
        return [Fault(f"{place} rejects the user or the password.", "Correct EMAIL_URL.")]
    except (OSError, smtplib.SMTPException, ssl.SSLError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        return [
            Fault(
                f"The mail server {place} cannot be used: {reason}.",
                "Check the address and the firewalls, or correct EMAIL_URL.",
            )
        ]
    return place
