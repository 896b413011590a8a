# Sandbox image: an interpreter, a profile's pinned libraries, /bin/sh and the supervisor's program.
# It has no compiler and no package manager. sandbox/launchers/docker_images.py builds it from the
# context lock, wheels/, box/, root_filesystem.py. Without a base image, docker_images.py runs root_filesystem.py
# with this machine's own interpreter instead.
ARG PYTHON_IMAGE=python:3.11-slim
FROM ${PYTHON_IMAGE} AS build
# Label to find and remove this stage after the build.
ARG STAGE
LABEL pecking-order.stage=${STAGE}
# Only in this stage, so that the address of an index is not in the image's history.
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ARG PIP_NO_INDEX
COPY . /context
RUN if [ -s /context/lock ]; then \
      python3 -m pip install --quiet --no-cache-dir --no-deps --no-compile --require-hashes \
        --only-binary :all: --no-warn-script-location --disable-pip-version-check \
        --root-user-action ignore --find-links /context/wheels --target /libraries \
        -r /context/lock; \
    fi \
 && python3 /context/root_filesystem.py --out /out --libraries /libraries --box /context/box

FROM scratch
COPY --from=build /out /
ENV PATH=/peck/python/bin
CMD ["python3", "-V"]
