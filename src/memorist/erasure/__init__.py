"""Erasure with a receipt: removal from every table, the ledger, receipts and verification."""
