// Written by docs/typescript.py from the server's own description. Do not edit.

import { MemoristError } from "../error.js";

/** The request cannot be understood. Compare it with the reference and send it again. */
export class Invalid extends MemoristError {
  static override readonly code: string = "invalid_request";
  static override readonly meaning: string = "The request cannot be understood. Compare it with the reference and send it again.";
}

/** A field has a value that is not allowed. The message names the field and what it takes. */
export class InvalidField extends Invalid {
  static override readonly code: string = "invalid_field";
  static override readonly meaning: string = "A field has a value that is not allowed. The message names the field and what it takes.";
}

/** The cursor is not one that this list gave out. Start again without a cursor. */
export class InvalidCursor extends Invalid {
  static override readonly code: string = "invalid_cursor";
  static override readonly meaning: string = "The cursor is not one that this list gave out. Start again without a cursor.";
}

/** The id is malformed. Memory ids look like mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3, or are the same bits as a UUID. */
export class InvalidId extends Invalid {
  static override readonly code: string = "invalid_id";
  static override readonly meaning: string = "The id is malformed. Memory ids look like mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3, or are the same bits as a UUID.";
}

/** The body is not JSON in UTF-8. Check the quoting and the Content-Type header. */
export class InvalidJson extends Invalid {
  static override readonly code: string = "invalid_json";
  static override readonly meaning: string = "The body is not JSON in UTF-8. Check the quoting and the Content-Type header.";
}

/** A setting has a value that is not allowed. `memorist config show` names where each value comes from. */
export class InvalidSetting extends Invalid {
  static override readonly code: string = "invalid_setting";
  static override readonly meaning: string = "A setting has a value that is not allowed. `memorist config show` names where each value comes from.";
}

/** This idempotency key was used before with another request. Use a new key for a new request. */
export class IdempotencyMismatch extends Invalid {
  static override readonly code: string = "idempotency_mismatch";
  static override readonly meaning: string = "This idempotency key was used before with another request. Use a new key for a new request.";
}

/** A valid API key is needed: send it as `Authorization: Bearer mst_live_…`. */
export class Unauthenticated extends MemoristError {
  static override readonly code: string = "unauthenticated";
  static override readonly meaning: string = "A valid API key is needed: send it as `Authorization: Bearer mst_live_…`.";
}

/** This key may not do that. Use a key with another role, or act as yourself. */
export class Forbidden extends MemoristError {
  static override readonly code: string = "forbidden";
  static override readonly meaning: string = "This key may not do that. Use a key with another role, or act as yourself.";
}

/** There is nothing here that you may see. */
export class NotFound extends MemoristError {
  static override readonly code: string = "not_found";
  static override readonly meaning: string = "There is nothing here that you may see.";
}

/** This address exists, but does not take that method. The Allow header lists those it takes. */
export class MethodNotAllowed extends MemoristError {
  static override readonly code: string = "method_not_allowed";
  static override readonly meaning: string = "This address exists, but does not take that method. The Allow header lists those it takes.";
}

/** The request conflicts with what is stored. Read it again, then decide. */
export class Conflict extends MemoristError {
  static override readonly code: string = "conflict";
  static override readonly meaning: string = "The request conflicts with what is stored. Read it again, then decide.";
}

/** A memory of that name exists in this profile. Change that one, or choose another name. */
export class NameTaken extends Conflict {
  static override readonly code: string = "name_taken";
  static override readonly meaning: string = "A memory of that name exists in this profile. Change that one, or choose another name.";
}

/** The same text is already remembered here. Nothing was changed. */
export class DuplicateContent extends Conflict {
  static override readonly code: string = "duplicate_content";
  static override readonly meaning: string = "The same text is already remembered here. Nothing was changed.";
}

/** A memory in that state cannot move to the other one. */
export class IllegalTransition extends Conflict {
  static override readonly code: string = "illegal_transition";
  static override readonly meaning: string = "A memory in that state cannot move to the other one.";
}

/** The door that wrote this memory lets nobody change it in place. Write it anew, and delete the old one. */
export class NotEditable extends Conflict {
  static override readonly code: string = "not_editable";
  static override readonly meaning: string = "The door that wrote this memory lets nobody change it in place. Write it anew, and delete the old one.";
}

/** A request with this idempotency key is still being worked on. Try again in a second. */
export class IdempotencyInFlight extends Conflict {
  static override readonly code: string = "idempotency_in_flight";
  static override readonly meaning: string = "A request with this idempotency key is still being worked on. Try again in a second.";
}

/** The memory changed since you read it. Read it again, and repeat the change on its new version. */
export class StaleVersion extends MemoristError {
  static override readonly code: string = "stale_version";
  static override readonly meaning: string = "The memory changed since you read it. Read it again, and repeat the change on its new version.";
}

/** The body is larger than the server takes. Split it, or raise MEMORIST_BODY_LIMIT. */
export class PayloadTooLarge extends MemoristError {
  static override readonly code: string = "payload_too_large";
  static override readonly meaning: string = "The body is larger than the server takes. Split it, or raise MEMORIST_BODY_LIMIT.";
}

/** The body is sent compressed, as its header Content-Encoding says, and the server takes plain ones. Send it as it is, without that header. */
export class UnsupportedEncoding extends MemoristError {
  static override readonly code: string = "unsupported_encoding";
  static override readonly meaning: string = "The body is sent compressed, as its header Content-Encoding says, and the server takes plain ones. Send it as it is, without that header.";
}

/** The request line and the headers are more than the server takes: 32 KB, or MEMORIST_HEADER_LIMIT, and 100 headers. Send long texts in the body. */
export class HeadersTooLarge extends MemoristError {
  static override readonly code: string = "headers_too_large";
  static override readonly meaning: string = "The request line and the headers are more than the server takes: 32 KB, or MEMORIST_HEADER_LIMIT, and 100 headers. Send long texts in the body.";
}

/** The rest of the request did not come in time. Send it again, in one go. */
export class RequestTimeout extends MemoristError {
  static override readonly code: string = "request_timeout";
  static override readonly meaning: string = "The rest of the request did not come in time. Send it again, in one go.";
}

/** More requests came for this key or user than the server takes at a time. Wait as Retry-After says, then go on. */
export class TooManyRequests extends MemoristError {
  static override readonly code: string = "too_many_requests";
  static override readonly meaning: string = "More requests came for this key or user than the server takes at a time. Wait as Retry-After says, then go on.";
}

/** The server has no room for more at the moment. Nothing was written; try again. */
export class ServerBusy extends MemoristError {
  static override readonly code: string = "server_busy";
  static override readonly meaning: string = "The server has no room for more at the moment. Nothing was written; try again.";
}

/** The server cannot be reached, or something else answers at its address. Check MEMORIST_URL, and that it runs. */
export class ServerUnavailable extends MemoristError {
  static override readonly code: string = "server_unavailable";
  static override readonly meaning: string = "The server cannot be reached, or something else answers at its address. Check MEMORIST_URL, and that it runs.";
}

/** A model failed. Keyword recall works without it. */
export class ModelError extends MemoristError {
  static override readonly code: string = "model_failed";
  static override readonly meaning: string = "A model failed. Keyword recall works without it.";
}

/** A remote model did not answer as it should. Check its address, its key and its log; keyword recall works. */
export class ModelUnavailable extends ModelError {
  static override readonly code: string = "model_unavailable";
  static override readonly meaning: string = "A remote model did not answer as it should. Check its address, its key and its log; keyword recall works.";
}

/** A file of the local models is missing or damaged. Install Memorist again; keyword recall works meanwhile. */
export class WeightsDamaged extends ModelError {
  static override readonly code: string = "weights_damaged";
  static override readonly meaning: string = "A file of the local models is missing or damaged. Install Memorist again; keyword recall works meanwhile.";
}

/** The language model did not take the request. Check MEMORIST_LLM, MEMORIST_LLM_URL and the key. */
export class LlmError extends ModelError {
  static override readonly code: string = "llm_failed";
  static override readonly meaning: string = "The language model did not take the request. Check MEMORIST_LLM, MEMORIST_LLM_URL and the key.";
}

/** The language model cannot be reached, is overloaded, or took too long. It is asked again later. */
export class LlmUnavailable extends LlmError {
  static override readonly code: string = "llm_unavailable";
  static override readonly meaning: string = "The language model cannot be reached, is overloaded, or took too long. It is asked again later.";
}

/** The language model declined to answer. What was sent to it is stored, and nothing else was changed. */
export class LlmRefused extends LlmError {
  static override readonly code: string = "llm_refused";
  static override readonly meaning: string = "The language model declined to answer. What was sent to it is stored, and nothing else was changed.";
}

/** The language model answered without a word, or spent all that an answer may take on thinking. Ask again, or ask another model. */
export class LlmEmpty extends LlmError {
  static override readonly code: string = "llm_empty";
  static override readonly meaning: string = "The language model answered without a word, or spent all that an answer may take on thinking. Ask again, or ask another model.";
}

/** The language model answered something that cannot be read. It is asked again later. */
export class LlmMalformed extends LlmError {
  static override readonly code: string = "llm_malformed";
  static override readonly meaning: string = "The language model answered something that cannot be read. It is asked again later.";
}

/** The turn failed. Its events tell how far it came. */
export class TurnError extends ModelError {
  static override readonly code: string = "turn_failed";
  static override readonly meaning: string = "The turn failed. Its events tell how far it came.";
}

/** No language model is configured. Set MEMORIST_LLM: anthropic:claude-sonnet-4-5 with ANTHROPIC_API_KEY for a cloud model, or openai:MODEL with MEMORIST_LLM_URL=http://127.0.0.1:11434/v1 for a local OpenAI-compatible server. */
export class LlmNotConfigured extends TurnError {
  static override readonly code: string = "llm_not_configured";
  static override readonly meaning: string = "No language model is configured. Set MEMORIST_LLM: anthropic:claude-sonnet-4-5 with ANTHROPIC_API_KEY for a cloud model, or openai:MODEL with MEMORIST_LLM_URL=http://127.0.0.1:11434/v1 for a local OpenAI-compatible server.";
}

/** The tenant's budget for turns is spent for this month. Raise MEMORIST_TURN_BUDGET_USD, or wait for the next. */
export class BudgetSpent extends TurnError {
  static override readonly code: string = "budget_spent";
  static override readonly meaning: string = "The tenant's budget for turns is spent for this month. Raise MEMORIST_TURN_BUDGET_USD, or wait for the next.";
}

/** The process that worked on the turn is gone. Ask again. */
export class TurnInterrupted extends TurnError {
  static override readonly code: string = "turn_interrupted";
  static override readonly meaning: string = "The process that worked on the turn is gone. Ask again.";
}

/** Nobody listened to the turn any more, so it was ended. */
export class TurnAbandoned extends TurnError {
  static override readonly code: string = "turn_abandoned";
  static override readonly meaning: string = "Nobody listened to the turn any more, so it was ended.";
}

/** The turn took longer than MEMORIST_TURN_TIMEOUT_S allows. */
export class TurnTooLong extends TurnError {
  static override readonly code: string = "turn_too_long";
  static override readonly meaning: string = "The turn took longer than MEMORIST_TURN_TIMEOUT_S allows.";
}

/** The database refused. Nothing was half written; see the log for its own words. */
export class StoreError extends MemoristError {
  static override readonly code: string = "store_failed";
  static override readonly meaning: string = "The database refused. Nothing was half written; see the log for its own words.";
}

/** The database cannot be reached or opened. Check its address, that it runs, and that you may use it. */
export class StoreUnavailable extends StoreError {
  static override readonly code: string = "store_unavailable";
  static override readonly meaning: string = "The database cannot be reached or opened. Check its address, that it runs, and that you may use it.";
}

/** The database stayed locked by others for too long. Nothing was written; try again. */
export class StoreBusy extends StoreError {
  static override readonly code: string = "store_busy";
  static override readonly meaning: string = "The database stayed locked by others for too long. Nothing was written; try again.";
}

/** The database cannot be written. Check the permissions of the file and of its folder. */
export class StoreReadOnly extends StoreError {
  static override readonly code: string = "store_read_only";
  static override readonly meaning: string = "The database cannot be written. Check the permissions of the file and of its folder.";
}

/** The disk is full. Nothing was lost and nothing was half written; free some space and try again. */
export class StoreFull extends StoreError {
  static override readonly code: string = "store_full";
  static override readonly meaning: string = "The disk is full. Nothing was lost and nothing was half written; free some space and try again.";
}

/** The file is damaged or no Memorist database. Stop Memorist and restore a backup with `memorist backup restore`, or save what can still be read with `memorist export`. */
export class StoreCorrupt extends StoreError {
  static override readonly code: string = "store_corrupt";
  static override readonly meaning: string = "The file is damaged or no Memorist database. Stop Memorist and restore a backup with `memorist backup restore`, or save what can still be read with `memorist export`.";
}

/** The database was written by a newer Memorist. Upgrade Memorist; the data was not touched. */
export class StoreOutdated extends StoreError {
  static override readonly code: string = "store_outdated";
  static override readonly meaning: string = "The database was written by a newer Memorist. Upgrade Memorist; the data was not touched.";
}

/** The database is encrypted, and the key for it is missing or another one. Set it (`encryption_key_file`, `encryption_key` or `encryption_key_command`) and start again; nothing was changed. */
export class EncryptionKeyError extends StoreError {
  static override readonly code: string = "encryption_key";
  static override readonly meaning: string = "The database is encrypted, and the key for it is missing or another one. Set it (`encryption_key_file`, `encryption_key` or `encryption_key_command`) and start again; nothing was changed.";
}

/** Every error by its code. */
export const ERRORS: Readonly<Record<string, typeof MemoristError>> = {
  internal: MemoristError,
  invalid_request: Invalid,
  invalid_field: InvalidField,
  invalid_cursor: InvalidCursor,
  invalid_id: InvalidId,
  invalid_json: InvalidJson,
  invalid_setting: InvalidSetting,
  idempotency_mismatch: IdempotencyMismatch,
  unauthenticated: Unauthenticated,
  forbidden: Forbidden,
  not_found: NotFound,
  method_not_allowed: MethodNotAllowed,
  conflict: Conflict,
  name_taken: NameTaken,
  duplicate_content: DuplicateContent,
  illegal_transition: IllegalTransition,
  not_editable: NotEditable,
  idempotency_in_flight: IdempotencyInFlight,
  stale_version: StaleVersion,
  payload_too_large: PayloadTooLarge,
  unsupported_encoding: UnsupportedEncoding,
  headers_too_large: HeadersTooLarge,
  request_timeout: RequestTimeout,
  too_many_requests: TooManyRequests,
  server_busy: ServerBusy,
  server_unavailable: ServerUnavailable,
  model_failed: ModelError,
  model_unavailable: ModelUnavailable,
  weights_damaged: WeightsDamaged,
  llm_failed: LlmError,
  llm_unavailable: LlmUnavailable,
  llm_refused: LlmRefused,
  llm_empty: LlmEmpty,
  llm_malformed: LlmMalformed,
  turn_failed: TurnError,
  llm_not_configured: LlmNotConfigured,
  budget_spent: BudgetSpent,
  turn_interrupted: TurnInterrupted,
  turn_abandoned: TurnAbandoned,
  turn_too_long: TurnTooLong,
  store_failed: StoreError,
  store_unavailable: StoreUnavailable,
  store_busy: StoreBusy,
  store_read_only: StoreReadOnly,
  store_full: StoreFull,
  store_corrupt: StoreCorrupt,
  store_outdated: StoreOutdated,
  encryption_key: EncryptionKeyError,
};
