"""Every verb by its name: the one table that the library and both clients take their methods from."""

from memorist.verbs import companion, facts, keeping, memories, seen, tokens
from memorist.verbs.methods import Doing, Streaming

LARGEST_PAGE = 100


class VerbList:
    """What one principal can do."""

    remember = Doing(memories.remember)
    remember_all = Doing(memories.remember_all)
    recall = Doing(memories.recall)
    get = Doing(memories.get)
    list = Doing(memories.list)
    edit = Doing(memories.edit)
    forget = Doing(memories.forget)
    archive = Doing(memories.archive)
    restore = Doing(memories.restore)
    events = Doing(memories.events)
    context = Doing(memories.context)
    section = Doing(memories.section)

    remember_fact = Doing(facts.remember_fact)
    extract = Doing(facts.extract)
    about = Doing(facts.about)
    history = Doing(facts.history)
    restore_fact = Doing(facts.restore_fact)
    in_doubt = Doing(facts.in_doubt)
    confirm_doubt = Doing(facts.confirm_doubt)
    refute_doubt = Doing(facts.refute_doubt)
    dismiss_doubt = Doing(facts.dismiss_doubt)
    jobs = Doing(facts.jobs)
    get_job = Doing(facts.get_job)
    retry_job = Doing(facts.retry_job)
    drop_job = Doing(facts.drop_job)

    entries = Doing(companion.entries)
    add_entry = Doing(companion.add_entry)
    erase_entry = Doing(companion.erase_entry)
    record_finding = Doing(companion.record_finding)
    summary = Doing(companion.summary)

    add_messages = Doing(seen.add_messages)
    add_tool_output = Doing(seen.add_tool_output)
    read_tool_output = Doing(seen.read_tool_output)
    add_document = Doing(seen.add_document)
    get_document = Doing(seen.get_document)
    list_documents = Doing(seen.list_documents)
    forget_document = Doing(seen.forget_document)
    tools = Doing(seen.tools)
    run_tool = Doing(seen.run_tool)
    get_turn = Doing(seen.get_turn)
    turns = Doing(seen.turns)
    turn = Streaming(seen.turn)
    turn_events = Streaming(seen.turn_events)
    changes = Streaming(seen.changes)

    create_token = Doing(tokens.create_token)
    revoke_tokens = Doing(tokens.revoke_tokens)

    policy = Doing(keeping.policy)
    set_policy = Doing(keeping.set_policy)
    sweep = Doing(keeping.sweep)
    erase = Doing(keeping.erase)
    purge = Doing(keeping.purge)
    delete_tenant = Doing(keeping.delete_tenant)
    receipt = Doing(keeping.receipt)
    receipts = Doing(keeping.receipts)
    verify = Doing(keeping.verify)
    reset = Doing(keeping.reset)
    wait_until_indexed = Doing(keeping.wait_until_indexed)
    import_ = Doing(keeping.import_)
    export = Streaming(keeping.export)
