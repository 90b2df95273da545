# The server and the command line in one small image. Data lie in /data; everything else may be read-only.
FROM python:3.13-slim AS build
WORKDIR /build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
# pip itself stays outside of what is copied on.
RUN python -m venv --without-pip /opt/memorist
COPY requirements/run.txt requirements/
RUN pip --python /opt/memorist/bin/python install --require-hashes --requirement requirements/run.txt
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY bench/memorist_bench bench/memorist_bench
COPY src src
RUN pip --python /opt/memorist/bin/python install --no-deps .
# Parts of packages that nothing here uses: a quarter of the size.
COPY ops/image-leaves-out.txt ./
RUN cd /opt/memorist/lib/python3.*/site-packages && rm -rf $(cat /build/image-leaves-out.txt)

FROM python:3.13-slim
RUN groupadd --gid 10001 memorist \
    && useradd --uid 10001 --gid 10001 --home-dir /data --no-create-home --shell /usr/sbin/nologin memorist \
    && install --directory --owner 10001 --group 10001 --mode 0700 /data
COPY --from=build /opt/memorist /opt/memorist
# The first start makes an admin key and writes it there.
ENV PATH=/opt/memorist/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    MEMORIST_DATA=/data \
    MEMORIST_FIRST_KEY=/data/local.key \
    MEMORIST_HOST=0.0.0.0
VOLUME /data
EXPOSE 8377
USER 10001:10001
# Where the settings say that it listens; over TLS whatever name its certificate has.
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import ssl, urllib.request; from memorist.settings_sources import load_settings; \
from memorist.running_servers import reached_at; \
own = load_settings().settings; \
host = own.host.strip('[]'); \
host = f'[{host}]' if ':' in host else host; \
url = reached_at(f'http{\"s\" * bool(own.tls_cert)}://{host}:{own.port}/healthz'); \
urllib.request.urlopen(url, timeout=4, context=ssl._create_unverified_context())"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["memorist"]
CMD ["serve"]
