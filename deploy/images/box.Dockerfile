# One box: the interpreter, a profile's pinned libraries, and the supervisor's program. Built by the
# node daemon (sandbox/containers.py), which gives it a context of exactly: lock, box/**/*.py.
FROM python:3.11-slim AS libraries
COPY lock /lock
RUN mkdir -p /peck/libraries \
 && if [ -s /lock ]; then \
      pip install --quiet --no-cache-dir --no-deps --require-hashes --only-binary :all: \
        --no-warn-script-location --root-user-action ignore --target /peck/libraries -r /lock \
      && rm -rf /peck/libraries/bin \
      && python3 -m compileall -q /peck/libraries; \
    fi

FROM python:3.11-slim
# The root is read-only at run time, so everything is compiled here; nothing that installs, builds
# or raises rights stays.
RUN mkdir -p /kaggle_simulations/agent /run/peck \
 && stdlib=$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))') \
 && rm -rf "$stdlib/ensurepip" "$stdlib/site-packages" /usr/local/lib/python3*/dist-packages \
      /usr/lib/python3/dist-packages /usr/local/bin/pip* /usr/bin/pip* /usr/bin/apt* /usr/bin/dpkg* \
 && (python3 -m compileall -q -x '/(test|tests|idlelib|lib2to3|turtledemo)/' "$stdlib" || true) \
 && find / -xdev -type f -perm /6000 -exec chmod a-s {} +
COPY --from=libraries /peck/libraries /peck/libraries
COPY box /peck/peckbox
RUN python3 -m compileall -q /peck/peckbox && chmod -R a+rX,go-w /peck
CMD ["/bin/false"]
