# A system to work on tflgpu in, with all that its tests need:
#
#   docker build -t tflgpu .
#   docker run --rm -it -v "$PWD:/tflgpu" tflgpu pytest -m quick
FROM debian:bookworm

RUN --mount=type=bind,source=.ci/packages,target=/packages apt-get update \
    && sed '/^#/d' /packages | xargs apt-get install -y --no-install-recommends npm \
    && rm -rf /var/lib/apt/lists/*

RUN python3 -m venv /venv
ENV PATH=/venv/bin:$PATH

WORKDIR /tflgpu
COPY . .
RUN pip install --no-cache-dir -e '.[cpu,litert,fleet,gl,webgpu,radv,ptxas,test,dev]'
