"""What the examples of the reference say: bodies that the server takes, and values for the parts of addresses."""

from typing import Any

VALUES: dict[str, str] = {
    "confirm": "ada",
    "doubt_id": "dbt_01M7EP2ZJ749R17D98EGKXKJFK",
    "document_id": "handbook",
    "fact_id": "mem_01M7EP2ZJ749R17D98EGKXKJFK",
    "id": "mem_01M7EP2ZJ749R17D98EGKXKJFK",
    "job_id": "job_01M7EP2ZJ749R17D98EGKXKJFK",
    "memory_id": "mem_01M7EP2ZJ749R17D98EGKXKJFK",
    "name": "recall",
    "project": "/srv/shop",
    "query": "Which day is good for a release?",
    "receipt_id": "rcpt_01M7EP2ZJ749R17D98EGKXKJFK",
    "session_id": "monday",
    "turn_id": "turn_01M7EP2ZJ749R17D98EGKXKJFK",
    "user": "ada",
}

_TALK = {"role": "user", "name": "Ada", "content": "My dog Rex is allergic to chicken."}

BODIES: dict[tuple[str, str], Any] = {
    ("PATCH", "/v1/memories/{memory_id}"): {"body": "Deploy on Tuesdays and Thursdays."},
    ("POST", "/v1/memories"): {
        "type": "feedback",
        "name": "deploy_day",
        "description": "Deploy on Tuesdays only",
        "body": "Deploy on Tuesdays only: the whole team is there.",
    },
    ("POST", "/v1/tools/{name}"): {"query": "What must the pet not eat?", "top_k": 3},
    ("POST", "/v1/sessions/{session_id}/messages"): {"messages": [_TALK]},
    ("POST", "/v1/sessions/{session_id}/tool-outputs"): {
        "tool_call_id": "call_1",
        "tool_name": "search",
        "content": "Three results were found.",
    },
    ("POST", "/v1/documents"): {
        "title": "Handbook",
        "content": "# Releases\n\nOn Tuesdays.",
        "document_id": "handbook",
    },
    ("POST", "/v1/memory"): {"text": "Prefers short answers.", "category": "preference"},
    ("POST", "/v1/findings"): {
        "finding_id": "f-1",
        "feature": "bed_time",
        "target": "sleep_quality",
        "verdict": "validated",
        "effect": 0.42,
        "text": "Going to bed before eleven goes with better sleep.",
    },
    ("POST", "/v1/turns"): {"messages": [{"role": "user", "content": "What must my dog not eat?"}]},
    ("POST", "/api/memory/store"): {
        "content": "The build needs Node 22.",
        "chunkType": "decision",
        "projectPath": "/srv/shop",
    },
    ("POST", "/api/memory/extract"): {"transcript": "User: We deploy on Tuesdays only.", "projectPath": "/srv/shop"},
    ("POST", "/memory/add"): {"content": "The door code is valid this week.", "ttl_minutes": 60},
    ("POST", "/memory/query"): {"query": "Is the door code valid?", "top_k": 3},
    ("POST", "/v1/facts"): {"content": "Ada lives in Lisbon."},
    ("POST", "/v1/context"): {"question": "Which day is good for a release?"},
    ("POST", "/v1/records"): {"content": "The staging database is reset every night.", "category": "project"},
    ("POST", "/v1/records/batch"): {"records": [{"content": "The staging database is reset every night."}]},
    ("POST", "/v1/records/recall"): {"query": "Which day is good for a release?", "top_k": 3},
    ("PATCH", "/v1/records/{memory_id}"): {"content": "The staging database is reset on Sundays."},
    ("POST", "/v1/records/extract"): {"transcript": "Ada: I moved to Lisbon in March."},
    ("POST", "/v1/records/erase"): {"ids": [VALUES["memory_id"]]},
    ("POST", "/v1/records/import"): {"lines": ['{"format": "memorist-export", "version": 1}']},
    ("POST", "/v1/records/purge"): {"user": "ada"},
    ("PUT", "/v1/admin/policy"): {"grace_days": 14},
    ("POST", "/v1/tokens"): {"user": "ada"},
}
