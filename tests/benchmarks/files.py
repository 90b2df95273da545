"""One small benchmark, invented for the tests, in each of the three formats."""

from typing import Any

TURNS = [
    ("Lena", "The rehearsal moved to the church hall."),
    ("Piet", "Which evening?"),
    ("Lena", "Thursday at eight, bring the cello."),
    ("Piet", "My cello is at the repair shop until Monday."),
]
LATER = [
    ("Piet", "The luthier replaced the bridge for ninety euros."),
    ("Lena", "Cheaper than the piano tuner!"),
]

NORMALIZED: dict[str, Any] = {
    "name": "tiny",
    "level": "turn",
    "cases": [
        {
            "id": "case 1",
            "messages": [
                {
                    "id": f"{session}:{index}", "session": session, "time": time, "speaker": speaker, "role": None,
                    "text": text,
                }
                for session, time, turns in (("1", "2024-02-01T18:00:00", TURNS), ("2", "2024-02-08T18:00:00", LATER))
                for index, (speaker, text) in enumerate(turns)
            ],
            "questions": [
                {"id": "q0", "text": "Where is the rehearsal?", "category": "place", "time": None, "evidence": ["1:0"]},
                {"id": "q1", "text": "What did the luthier do?", "category": "work", "time": None, "evidence": ["2:0"]},
                {"id": "q2", "text": "Where and when is the cello?", "category": "place", "evidence": ["1:2", "1:3"]},
                {"id": "q3", "text": "Who won the match?", "category": "none", "time": None, "evidence": []},
            ],
        },
        {
            "id": "case 2",
            "messages": [
                {"id": "1:0", "session": "a b", "time": None, "speaker": "Omar", "role": "user", "text": "Soup today"}
            ],
            "questions": [
                {"id": "q4", "text": "When is soup?", "category": "time", "time": None, "evidence": ["1:0"]}
            ],
        },
    ],
}  # fmt: skip

LOCOMO: list[dict[str, Any]] = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Lena",
            "speaker_b": "Piet",
            "session_2_date_time": "6:05 pm on 8 February, 2024",
            "session_2": [
                {"speaker": speaker, "dia_id": f"D2:{index}", "text": text}
                for index, (speaker, text) in enumerate(LATER, start=1)
            ],
            "session_1_date_time": "1:56 pm on 1 February, 2024",
            "session_1": [
                {"speaker": speaker, "dia_id": f"D1:{index}", "text": text}
                for index, (speaker, text) in enumerate(TURNS, start=1)
            ]
            + [{"speaker": "Piet", "dia_id": "D1:5", "text": "Look!", "blip_caption": "a cracked cello"}],
        },
        "qa": [
            {"question": "Where is the rehearsal?", "answer": "church hall", "evidence": ["D1:1"], "category": 4},
            {"question": "Where and when is the cello?", "evidence": ["D1:3; D:1:4"], "category": 1},
            {"question": "Who won?", "evidence": [], "category": 5},
            {"question": "Who flew?", "evidence": ["D9:9"], "category": 5},
        ],
    }
]

LONGMEMEVAL: list[dict[str, Any]] = [
    {
        "question_id": "q-1",
        "question_type": "single-session-user",
        "question": "Where is the rehearsal?",
        "question_date": "2024/03/01 (Fri) 10:00",
        "haystack_session_ids": ["s-1", "s-2"],
        "haystack_dates": ["2024/02/01 (Thu) 18:00", "2024/02/08 (Thu) 18:05"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "The rehearsal moved to the church hall."},
                {"role": "assistant", "content": "I noted the new place."},
                {"role": "user", "content": "It is on Thursday."},
            ],
            [{"role": "user", "content": "The luthier replaced the bridge."}],
        ],
        "answer_session_ids": ["s-1"],
    }
]
