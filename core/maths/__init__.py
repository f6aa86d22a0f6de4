"""Mathematics: arrays in, arrays or small dataclasses out; nothing of models, stores or files."""
