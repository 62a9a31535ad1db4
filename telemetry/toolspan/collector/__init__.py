"""
The collector: OTLP in, one writer that owns a store file, metrics and answers out. Needs the extra `collector`.
"""
