"""Erasure with a receipt: places, ledger, receipts and verification."""
