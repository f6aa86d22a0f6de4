# The app on a CPU, shared, not as root. Build: docker build -t palimpsest .
# Run: docker run -p 8501:8501 -v palimpsest-store:/store palimpsest
FROM python:3.11-slim

RUN useradd --create-home --uid 1000 palimpsest && install -d -o palimpsest -g palimpsest /app /store
USER palimpsest
WORKDIR /app
ENV PATH=/home/palimpsest/.local/bin:$PATH \
    HF_HOME=/store/hub \
    PALIMPSEST_MODE=shared \
    PALIMPSEST_STORE=/store/results

# PyTorch's own index has the build without CUDA; the version is the one that requirements.txt names.
COPY --chown=palimpsest requirements.txt ./
RUN pip install --user --no-cache-dir --index-url https://download.pytorch.org/whl/cpu --no-deps \
        "$(grep '^torch==' requirements.txt)" \
    && pip install --user --no-cache-dir -r requirements.txt

COPY --chown=palimpsest . .
VOLUME /store
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD python -c "import urllib.request as u; u.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"
CMD ["python", "-m", "streamlit", "run", "app.py", "--server.address=0.0.0.0", "--server.port=8501"]
