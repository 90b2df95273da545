// Written by docs/typescript.py from the server's own description. Do not edit.

export interface About {
  person: string | null;
  people: PersonProfile[];
  mentioned: Mention[];
  more_mentioned: number;
  replaced: ReplacedFact[];
  more_replaced: number;
  new: ProfileLine[];
  more_new: number;
  doubts: OpenDoubt[];
  more_doubts: number;
  written: WrittenProfile | null;
}

export interface ActKind {
}

export interface AuditList {
  data: AuditRow[];
  next_cursor: string | null;
  has_more: boolean;
}

export interface AuditRow {
  number: number;
  at: string;
  kind: string;
  door: string;
  route: string;
  outcome: string;
  key_id: string | null;
  role: string | null;
  user: string | null;
  agent: string | null;
  on_behalf: boolean;
  ids: string[];
  times: number;
  hash: string;
}

export interface ChainCheck {
  entries: number;
  first: number;
  number: number;
  hash: string;
  waiting: number;
  findings: string[];
}

export interface Composed {
  text: string;
  fenced: string;
  tokens: number;
  ids: string[];
  named: number;
  degraded: boolean;
}

export interface ContextQuestion {
  /** What the agent is asked; empty before it is asked anything. */
  question?: string | null;
  /** With what a coding assistant learned in this folder. */
  project?: string | null;
  /** Most tokens; by default `context_tokens` of the settings. */
  budget_tokens?: number | null;
}

export interface Document {
  id: string;
  user: string | null;
  agent: string | null;
  title: string;
  media_type: string;
  content: string;
  chunks: number;
  created_at: string;
  updated_at: string;
}

export interface DocumentList {
  data: DocumentRow[];
  next_cursor: string | null;
  has_more: boolean;
}

export interface DocumentPage {
  items: Document[];
  next_cursor: string | null;
}

export interface DocumentRow {
  document_id: string;
  title: string;
  media_type: string;
  chunks: number;
  shared: boolean;
  created_at: string;
  updated_at: string;
}

export interface Doubt {
  id: string;
  user: string | null;
  agent: string | null;
  fact_id: string;
  other_id: string;
  reason: string;
  judge: string;
  created_at: string;
  updated_at: string;
  status: "open" | "confirmed" | "refuted" | "dismissed";
}

export interface DoubtList {
  data: DoubtRow[];
  next_cursor: string | null;
  has_more: boolean;
}

export interface DoubtRow {
  id: string;
  status: string;
  reason: string;
  judge: string;
  fact: FactRow;
  other: FactRow;
  created_at: string;
  updated_at: string;
}

export interface Draft {
  /** The text. */
  content: string;
  /** Where it came from. */
  kind?: "fact" | "chat_message" | "tool_output" | "document_chunk" | null;
  /** What it is about: a slug. */
  category?: string | null;
  /** A slug, unique among the active memories of its owner. */
  name?: string | null;
  /** One line, shown in the memory section. */
  description?: string | null;
  /** The part that is quoted, if not all of it. */
  excerpt?: string | null;
  /** What is higher comes first in the memory section. */
  importance?: number | null;
  /** How sure it is, from 0 to 1. */
  confidence?: number | null;
  /** How much it matters, from 0 to 1. */
  relevance?: number | null;
  /** A JSON object of your own. */
  meta?: Record<string, unknown> | null;
  /** What it was taken from. */
  source_ref?: string | null;
  /** Who vouches for it. */
  trust?: "user" | "agent" | "tool" | "document" | null;
  /** The project it comes from, for filters. */
  project?: string | null;
  /** The session it comes from, for filters. */
  session?: string | null;
  /** Whether the tenant's policy ages it, or it is kept until somebody deletes it. */
  retention?: "policy" | "keep" | null;
  /** When the thing happened, if that is known. */
  event_time?: string | Date | null;
  /** Whose it is. Absent: the caller's. */
  owner?: Owner | null;
  /** How long it lives, in seconds. */
  ttl?: number | null;
}

export interface Entries {
  data: Entry[];
  next_cursor: string | null;
  has_more: boolean;
}

export interface Entry {
  id: string;
  text: string;
  category: string;
  created_at: string;
  source_turn_id: string | null;
  confidence: number | null;
  meta: FindingMeta | null;
}

export interface ErasedCount {
  erased: number;
}

export interface Event {
  memory_id: string;
  event_type: string;
  source: string;
  created_at: string;
  actor: string | null;
  payload: Record<string, unknown>;
  seq: number;
}

export interface EventRecords {
  data: Event[];
}

export interface ExportedLines {
  /** The first line of an export, and any of the others. */
  lines: string[];
}

export interface ExtractedMemories {
  memories: Remembered[];
  messages: number;
  extractor: string;
  usage: Usage;
  dropped: Record<string, number>;
  session: string;
  known: number;
  skipped: number;
  waiting: number;
  failure: string | null;
}

export interface FactRow {
  id: string;
  content: string;
  status: string;
  valid_from: string | null;
  valid_to: string | null;
  superseded_by: string | null;
  created_at: string;
}

export interface FactVersion {
  memory: Memory;
  events: Event[];
}

export interface FindingMeta {
  finding_id: string;
  feature: string;
  target: string;
  verdict: string;
  effect: string | number;
}

export interface History {
  data: VersionRow[];
}

export interface Hit {
  memory: Memory;
  score: number;
  excerpt: string;
  explanation: Record<string, unknown> | null;
}

export interface ImportReport {
  imported: number;
  already_there: number;
  conflicting: number;
  shared: number;
  erased: number;
  policy_set: number;
  policy_left: number;
  incomplete: number;
  uncounted: number;
}

export interface InDoubt {
  doubt: Doubt;
  fact: Memory;
  other: Memory;
  verdict: Verdict | null;
}

export interface InDoubtPage {
  items: InDoubt[];
  next_cursor: string | null;
}

export interface InjectedSummary {
  summary: string;
  injected: string;
  entries: number;
}

export interface Job {
  id: string;
  kind: string;
  principal: Principal;
  payload: Record<string, unknown>;
  run_at: string;
  created_at: string;
  updated_at: string;
  key: string | null;
  status: "waiting" | "done" | "dead";
  attempts: number;
  error: string | null;
  result: Record<string, unknown> | null;
}

export interface JobList {
  data: JobRow[];
  next_cursor: string | null;
  has_more: boolean;
}

export interface JobPage {
  items: Job[];
  next_cursor: string | null;
}

export interface JobRow {
  id: string;
  kind: string;
  user: string | null;
  agent: string | null;
  status: string;
  attempts: number;
  run_at: string;
  error: string | null;
  payload: Record<string, unknown>;
  result: Record<string, unknown> | null;
  created_at: string;
  updated_at: string;
}

export interface Memory {
  id: string;
  tenant: string;
  content: string;
  content_hash: string;
  dedup_key: string;
  created_at: string;
  updated_at: string;
  user: string | null;
  agent: string | null;
  session: string | null;
  project: string | null;
  kind: "fact" | "chat_message" | "tool_output" | "document_chunk";
  category: string | null;
  name: string | null;
  description: string | null;
  excerpt: string | null;
  importance: number;
  confidence: number | null;
  relevance: number | null;
  meta: Record<string, unknown> | null;
  source_ref: string | null;
  trust: "user" | "agent" | "tool" | "document";
  governed_by: "native" | "companion" | "profile" | "coding_assistant" | "lifecycle" | "agent_tools";
  status: "active" | "archived" | "soft_deleted" | "hard_delete_pending" | "purged";
  retention: "policy" | "keep";
  superseded_by: string | null;
  event_time: string | null;
  valid_from: string | null;
  valid_to: string | null;
  archive_at: string | null;
  retention_expires_at: string | null;
  expires_at: string | null;
  deleted_at: string | null;
  hard_delete_at: string | null;
  anonymized_at: string | null;
  access_count: number;
  last_accessed_at: string | null;
  redacted: Record<string, number> | null;
  version: string;
}

export interface MemoryIds {
  /** The ids of the memories. */
  ids: string[];
}

export interface MemoryPage {
  items: Memory[];
  next_cursor: string | null;
}

export interface MemoryRecordChanges {
  /** The text. */
  content?: string;
  /** The project it comes from, for filters. */
  project?: string | null;
  /** What it is about: a slug. */
  category?: string | null;
  /** A slug, unique among the active memories of its owner. */
  name?: string | null;
  /** One line, shown in the memory section. */
  description?: string | null;
  /** The part that is quoted, if not all of it. */
  excerpt?: string | null;
  /** What is higher comes first in the memory section. */
  importance?: number;
  /** How sure it is, from 0 to 1. */
  confidence?: number | null;
  /** How much it matters, from 0 to 1. */
  relevance?: number | null;
  /** A JSON object of your own. */
  meta?: Record<string, unknown> | null;
}

export interface MemoryRecords {
  data: Memory[];
  next_cursor: string | null;
  has_more: boolean;
}

export interface MemorySection {
  profile_id: string | null;
  section: string;
  count: number;
}

export interface Mention {
  name: string;
  relation: string | null;
  facts: number;
  lines: ProfileLine[];
}

export interface MessageList {
  data: MessageRow[];
  next_cursor: string | null;
  has_more: boolean;
}

export interface MessageRow {
  id: string;
  role: string;
  content: string;
  name: string | null;
  event_time: string | null;
  meta: Record<string, unknown>;
  created_at: string;
}

export interface NewDocument {
  /** One line. Without `document_id` it names the document that is replaced. */
  title: string;
  /** The text. Either this or `content_base64`. */
  content?: string | null;
  /** The bytes of the file, for a PDF. */
  content_base64?: string | null;
  /** `text/plain`, `text/markdown`, `text/html` or `application/pdf`. */
  media_type?: string | null;
  /** Your own name for it; a document of that name is replaced. Absent: one is made. */
  document_id?: string | null;
  /** true: for everybody in the tenant, where its policy lets users do that. Absent: with a service or admin key true, with a user's false. */
  shared?: boolean | null;
}

export interface NewEntry {
  /** The memory itself: a sentence or two, at most 500 characters. */
  text: string;
  category: "goal" | "insight" | "preference" | "history";
  /** How certain it is that the user meant it so. */
  confidence?: number | null;
}

export interface NewFact {
  /** The fact, in a sentence. */
  content: string;
  /** Whom it is about. */
  scope?: "user" | "agent" | null;
}

export interface NewFinding {
  /** Yours; the same finding is recorded once. */
  finding_id: string;
  /** What was looked at, such as `espressos_after_2pm`. */
  feature: string;
  /** What it was held against, such as `deep_sleep_minutes`. */
  target: string;
  verdict: "validated" | "conditional" | "rejected";
  /** How strong it is: a number, or your words, such as `ρ=-0.34, N=87`. */
  effect: string | number;
  /** The hypothesis as a sentence, at most 500 characters. */
  text: string;
  /** The turn that it was tested for, which then tells the verdict. */
  source_turn_id?: string | null;
}

export interface NewMessage {
  /** Who speaks: `user`, `assistant`, `system`, `tool` or any other word. */
  role: string;
  /** What was said. Parts are joined with line breaks. */
  content: string | Record<string, unknown>[];
  /** The speaker's name, where the role does not tell. */
  name?: string | null;
  /** When it was said. Absent: now. */
  event_time?: string | Date | null;
  /** Anything else to keep with it. */
  meta?: Record<string, unknown> | null;
}

export interface NewMessages {
  /** In the order in which they were said. */
  messages: NewMessage[];
  /** Find facts in them, in the background. */
  extract?: boolean | null;
}

export interface NewRecords {
  records: Draft[];
}

export interface NewToken {
  /** The user that the token stands for. */
  user: string;
  /** The agent (profile) that it is bound to. Absent: the key's, or none. */
  agent?: string | null;
  /** What its holder may do; who writes also reads. */
  rights?: "read" | "write" | null;
  /** How long it lives, in seconds. */
  lifetime?: number | null;
}

export interface NewToolOutput {
  /** The id of the call, as the model gave it. */
  tool_call_id: string;
  tool_name: string;
  /** What the tool returned: a text, or parts of it, which are joined; other JSON is kept as JSON text. */
  content: string | number | boolean | unknown[] | Record<string, unknown>;
  /** When it returned. Absent: now. */
  event_time?: string | Date | null;
}

export interface NewTranscript {
  /** A conversation as text or JSON. */
  transcript: string;
  /** The conversation's id. Absent: one is made of its text. */
  session?: string | null;
  /** A path or a name. */
  project?: string | null;
}

export interface NewTurn {
  /** The conversation so far, ending with the user's message. */
  messages: TurnMessage[];
  context?: TurnContext | null;
  /** Answer with events, as `Accept: text/event-stream` asks for. */
  stream?: boolean | null;
}

export interface OpenDoubt {
  id: string;
  at: string;
  newer_id: string;
  newer: string;
  older_id: string;
  older: string;
  reason: string;
}

export interface Owner {
  user?: string | null;
  agent?: string | null;
}

export interface PersonProfile {
  person: string;
  facts: number;
  slots: ProfileSlot[];
  timeline: ProfileLine[];
  earlier: number;
}

export interface Policy {
  mode: "auto" | "observe" | "enforce";
  windows: Windows;
  kinds: Record<string, Record<string, unknown>>;
  anonymize_after_days: number;
  derived_facts: "detach" | "erase";
  users_share_documents: boolean;
}

export interface PolicyAnswer {
  mode: string;
  active_days: number;
  archive: boolean;
  archive_days: number;
  grace_days: number;
  kinds: Record<string, Record<string, unknown>>;
  anonymize_after_days: number;
  derived_facts: string;
  users_share_documents: boolean;
  revision: number;
  changed_at: string | null;
  changed_by: string | null;
  acts_from: string | null;
  history: Record<string, unknown>[];
}

export interface PolicyChange {
  before: Policy;
  after: Policy;
  revision: number;
  dry_run: boolean;
  touched: Record<string, number>;
  due: Record<string, Record<string, number>>;
  pending: boolean;
}

export interface PolicyChanged {
  mode: string;
  active_days: number;
  archive: boolean;
  archive_days: number;
  grace_days: number;
  kinds: Record<string, Record<string, unknown>>;
  anonymize_after_days: number;
  derived_facts: string;
  users_share_documents: boolean;
  revision: number;
  dry_run: boolean;
  touched: Record<string, number>;
  due: Record<string, Record<string, number>>;
  pending: boolean;
}

export interface PolicyRevision {
  revision: number;
  policy: Policy;
  source: string;
  created_at: string | null;
  actor: string | null;
  acts_from: string | null;
}

export interface Principal {
  tenant: string;
  role: "admin" | "service" | "user" | "reader";
  user: string | null;
  agent: string | null;
  session: string | null;
  key_id: string | null;
  source: string;
  agent_vouched: boolean;
  on_behalf: boolean;
  agent_bound: boolean;
}

/** RFC 9457 problem details. */
export interface Problem {
  /** Where this error is explained. */
  type: string;
  title: string;
  status: number;
  /** What is wrong and what to do. */
  detail: string;
  /** Stable, to be handled by programs. */
  code: string;
  request_id: string;
  /** The field that was refused. */
  field?: string;
  /** All refused fields. */
  errors?: Record<string, unknown>[];
}

export interface ProfileLine {
  memory_id: string;
  text: string;
  topic: string;
  person: string;
  date: string;
  day: string | null;
  importance: number;
  stated: number;
  sources: string[];
  excerpt: string | null;
}

export interface ProfileSlot {
  topic: string;
  heading: string;
  lines: ProfileLine[];
  more: number;
}

export interface Question {
  /** What to look for. */
  query: string;
  /** How many memories to return at most. */
  top_k?: number | null;
  /** Only memories of these kinds. */
  source_kinds?: ("fact" | "chat_message" | "tool_output" | "document_chunk")[] | null;
  /** Which memories to search. */
  scope?: "any" | "session" | "user" | "agent" | "tenant" | null;
  /** Read the candidates again for precision. */
  enable_rerank?: boolean | null;
  /** Answer with what was true at this time. */
  as_of?: string | Date | null;
  /** Answer with what was stored by this time. */
  known_at?: string | Date | null;
  /** Only what happened at or after this time. */
  after?: string | Date | null;
  /** Only what happened before this time. */
  before?: string | Date | null;
  /** Only memories of this category. */
  category?: string | null;
  /** Only memories of this project. */
  project?: string | null;
  /** Return as many memories as fit into this many tokens, instead of `top_k`. */
  budget_tokens?: number | null;
  /** Leave out what scores below this, from 0 to 1. Absent: as the server is set. */
  min_score?: number | null;
  /** Tell of every memory how it came to its rank. */
  explain?: boolean | null;
  /** The id of a memory that you expected: the answer tells why it is not among the hits. */
  why_not?: string | null;
}

export interface Recalled {
  hits: Hit[];
  degraded: boolean;
  rerank_used: boolean;
  why_not: Record<string, unknown> | null;
  reranked: number;
  degraded_by: ("meaning" | "vectors" | "users")[];
}

export interface Receipt {
  id: string;
  tenant: string;
  kind: "memories" | "user" | "tenant" | "reset" | "retention";
  status: "due" | "running" | "scrubbing" | "done";
  asked_by: Record<string, unknown>;
  salt: string;
  started_at: string;
  due_at: string;
  subject: string;
  request: Record<string, unknown> | null;
  counts: Record<string, number>;
  verification: Verification | null;
  remains: string[];
  finished_at: string | null;
}

export interface ReceiptList {
  data: ReceiptRow[];
}

export interface ReceiptRow {
  id: string;
  tenant: string;
  kind: string;
  status: string;
  asked_by: Record<string, unknown>;
  subject: string;
  salt: string;
  started_at: string;
  due_at: string;
  finished_at: string | null;
  counts: Record<string, number>;
  verification: Record<string, unknown> | null;
  remains: string[];
}

export interface Recorded {
  tested: Memory;
  insight: Memory | null;
  was_new: boolean;
}

export interface RecordedFinding {
  finding_id: string;
  was_new: boolean;
  tested_hypothesis: Entry;
  insight: Entry | null;
}

export interface Remembered {
  memory: Memory;
  was_new: boolean;
  replayed: boolean;
}

export interface RememberedRecords {
  data: Remembered[];
}

export interface ReplacedFact {
  at: string;
  memory_id: string;
  text: string;
  by_id: string | null;
  by_text: string | null;
  reason: string;
  was_merged: boolean;
}

export interface RevokedTokens {
  revoked: number;
}

export interface StoredDocument {
  document: Document;
  was_new: boolean;
  changed: boolean;
}

export interface StoredDocumentRow {
  document_id: string;
  title: string;
  media_type: string;
  chunks: number;
  shared: boolean;
  created_at: string;
  updated_at: string;
  was_new: boolean;
  changed: boolean;
}

export interface StoredMessages {
  ids: string[];
  session_id: string;
  count: number;
}

export interface StoredToolOutput {
  id: string;
  tool_output_key: string;
  preview: string;
  truncated: boolean;
}

export interface Sweep {
  tenant: string;
  as_of: string;
  mode: "auto" | "observe" | "enforce";
  done: Record<string, Record<string, number>>;
  due: Record<string, Record<string, number>>;
  samples: Record<string, string[]>;
  dry_run: boolean;
}

export interface ToolList {
  tools: Record<string, unknown>[];
}

export interface ToolOutput {
  memory: Memory;
  key: string;
  preview: string;
  truncated: boolean;
  replayed: boolean;
}

export interface Turn {
  id: string;
  user: string | null;
  agent: string | null;
  session: string;
  status: "running" | "completed" | "failed";
  created_at: string;
  request: string;
  answer: string | null;
  error: Record<string, string> | null;
  usage: Usage;
  completed_at: string | null;
  runner: string;
  lease_until: string | null;
  attended_until: string | null;
  replayed: boolean;
}

export interface TurnContext {
  /** Whether the model is told what is remembered of the user. */
  include_memory?: boolean | null;
  /** The conversation that the messages are of. */
  session_id?: string | null;
}

export interface TurnEventList {
  data: TurnEventRow[];
  has_more: boolean;
}

export interface TurnEventRow {
  id: number;
  event: string;
  data: Record<string, unknown>;
  created_at: string;
}

export interface TurnList {
  data: TurnRow[];
  next_cursor: string | null;
  has_more: boolean;
}

export interface TurnMessage {
  role: "user" | "assistant" | "system";
  content: string;
}

export interface TurnPage {
  items: Turn[];
  next_cursor: string | null;
}

export interface TurnProblem {
  code: string;
  message: string;
}

export interface TurnResult {
  answer: string;
}

export interface TurnRow {
  id: string;
  status: "running" | "completed" | "failed";
  session_id: string;
  created_at: string;
  completed_at: string | null;
  result: TurnResult | null;
  error: TurnProblem | null;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
}

export interface Usage {
  input_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
}

export interface UserToken {
  token: string;
  user: string;
  agent: string | null;
  rights: "read" | "write";
  expires_at: string;
}

export interface Verdict {
  ruling: "same" | "refines" | "contradicts" | "unrelated" | "unsure";
  reason: string;
  confidence: number;
}

export interface Verification {
  ok: boolean;
  checked_at: string;
  ids: number;
  rows: Record<string, number>;
  ids_in_files: number | null;
  samples: number;
  samples_in_files: number | null;
  name_in_files: number | null;
}

export interface VersionRow {
  id: string;
  content: string;
  status: string;
  valid_from: string | null;
  valid_to: string | null;
  superseded_by: string | null;
  created_at: string;
  events: Record<string, unknown>[];
}

export interface WaitingRow {
  waiting: number;
}

export interface WholeDocument {
  document_id: string;
  title: string;
  media_type: string;
  chunks: number;
  shared: boolean;
  created_at: string;
  updated_at: string;
  content: string;
}

export interface WhoseData {
  /** For admin keys: any user. Absent: your own. */
  user?: string | null;
  /** Remove the user's API keys too. */
  keys?: boolean | null;
}

export interface Windows {
  active_days: number;
  archive: boolean;
  archive_days: number;
  grace_days: number;
}

export interface WrittenProfile {
  text: string;
  model: string;
  at: string;
}

export interface ChangePolicyQuery {
  /** Only say what the change would touch. */
  dry_run?: boolean;
}

export interface DeleteTenantQuery {
  /** Now, instead of in 30 days. */
  at_once?: boolean;
  /** What is to be erased, said once more. */
  confirm?: string | null;
}

export interface DeleteUserQuery {
  /** What is to be erased, said once more. */
  confirm?: string | null;
}

export interface ExportRecordsQuery {
  /** Only memories of these kinds. */
  kinds?: ("fact" | "chat_message" | "tool_output" | "document_chunk")[] | null;
  /** Only what was stored from this time on. */
  since?: string | Date | null;
  /** Only what was stored before this time. */
  until?: string | Date | null;
}

export interface ImportRecordsQuery {
  /** Lines that other requests sent: errors count from there. */
  after?: number;
}

export interface ListAuditQuery {
  /** Only these. */
  kind?: ActKind | null;
  /** Only these: `ok`, or the code of an error. */
  outcome?: string | null;
  /** Only these, such as `GET /v1/memories/{memory_id}`. */
  route?: string | null;
  /** Only what was done with the key of this id. */
  key?: string | null;
  /** Only what was done as or for this user. */
  user?: string | null;
  /** Only where the address had this id or name in it. */
  about?: string | null;
  /** How many rows a page has. */
  limit?: number;
  /** `next_cursor` of the page before. */
  cursor?: string | null;
}

export interface ListDocumentsQuery {
  /** How many rows a page has. */
  limit?: number;
  /** `next_cursor` of the page before. */
  cursor?: string | null;
}

export interface ListDoubtsQuery {
  /** Those not decided, or decided so. */
  status?: "open" | "confirmed" | "refuted" | "dismissed";
  /** How many rows a page has. */
  limit?: number;
  /** `next_cursor` of the page before. */
  cursor?: string | null;
}

export interface ListEntriesQuery {
  /** Only this category; `tested_hypothesis` goes with `include`. */
  category?: "goal" | "insight" | "preference" | "history" | "tested_hypothesis" | null;
  /** Only what was written after this time. */
  after?: string | Date | null;
  /** Only what was written before this time. */
  before?: string | Date | null;
  /** Tested hypotheses too. */
  include?: "tested_hypothesis" | null;
  /** How many rows a page has. */
  limit?: number;
  /** `next_cursor` of the page before. */
  cursor?: string | null;
}

export interface ListJobsQuery {
  /** Only these. `dead` ones need somebody. */
  status?: "waiting" | "done" | "dead" | null;
  /** Only these, such as `judge`. */
  kind?: string | null;
  /** How many rows a page has. */
  limit?: number;
  /** `next_cursor` of the page before. */
  cursor?: string | null;
}

export interface ListMessagesQuery {
  /** How many rows a page has. */
  limit?: number;
  /** `next_cursor` of the page before. */
  cursor?: string | null;
}

export interface ListReceiptsQuery {
  /** How many rows a page has. */
  limit?: number;
  /** The id of the last receipt of the page before. */
  before?: string | null;
}

export interface ListRecordsQuery {
  /** See what this agent sees. */
  agent?: string | null;
  /** See what all of your agents keep, too. */
  every_agent?: boolean;
  /** Only memories that have a name. */
  named?: boolean;
  /** Only memories of this kind. */
  kind?: "fact" | "chat_message" | "tool_output" | "document_chunk" | null;
  /** Only memories of this category. */
  category?: string | null;
  /** Only memories of this project. */
  project?: string | null;
  /** Only memories of this session. */
  session?: string | null;
  /** Where they stand in their life. */
  status?: "active" | "archived" | "soft_deleted" | "hard_delete_pending" | "purged";
  /** What comes first; `importance` is for named memories. */
  order?: "newest" | "importance";
  /** How many rows a page has. */
  limit?: number;
  /** `next_cursor` of the page before. */
  cursor?: string | null;
}

export interface ListToolsQuery {
  /** Whose shape the schemas have. */
  format?: "openai" | "anthropic" | "mcp";
}

export interface ListTurnsQuery {
  /** How many rows a page has. */
  limit?: number;
  /** `next_cursor` of the page before. */
  cursor?: string | null;
}

export interface MemorySectionQuery {
  /** See what this profile sees. */
  profile_id?: string | null;
}

export interface ReadAboutQuery {
  /** Only who speaks under this name, or is named so. */
  person?: string | null;
  /** Most lines of a topic. */
  limit?: number;
  /** Let the configured language model write it down as well. */
  written?: boolean;
}

export interface ReadEventsQuery {
  /** The same, for clients that cannot send the header. */
  after?: string | null;
  /** How many events are listed. */
  limit?: number;
}

export interface RevokeTokensQuery {
  /** Whose tokens end. */
  user: string;
}

export interface StreamQuery {
  /** The same, for clients that cannot send the header. */
  after?: string | null;
  /** End with an event `quiet` when there was no change for so many seconds. Absent: never. */
  wait?: number | null;
}

export interface SweepNowQuery {
  /** Only say what is due. */
  dry_run?: boolean;
}
