"""The local models: an embedder and a reranker on onnxruntime, with their weights inside the package.

Importing this package loads nothing; a model reads its weights when it is first used.
"""
