// SPDX-License-Identifier: Apache-2.0
// The server's messages, with the names of the Go packages agent/view and agent/session.

export type Kind =
  | "message"
  | "thought"
  | "tool_call"
  | "command"
  | "plan"
  | "agent"
  | "question"
  | "usage"
  | "notice"
  | "options"
  | "commands"
  | "session"
  | "waiting"
  | "compaction";

export interface FileChange { path: string; old?: string | null; new: string }
export interface Location { path: string; line?: number }
export interface Exit { code: number; signal?: string }
export interface Step { text: string; status?: string; priority?: string }
export interface Choice { id: string; title?: string; class?: string; group?: string; description?: string }
export interface Tokens { used: number; size?: number; cost?: number; currency?: string }
export interface SlashCommand { name: string; description?: string; hint?: string }

export interface Setting {
  id: string; title?: string; description?: string; category?: string; value: string; switch?: boolean; choices?: Choice[];
}

/** A piece of what an entity shows. Data is in base64. Ref is the id of another entity. Cites are places in the entity's text, in bytes. */
export interface Content {
  kind: "text" | "image" | "audio" | "link" | "resource" | "diff" | "command" | "other";
  text?: string; mime_type?: string; data?: string; uri?: string; name?: string; ref?: string; diff?: FileChange; raw?: unknown;
  cites?: { start: number; end: number }[];
}

/** A thing that a conversation shows. Its kind says which fields are used. Entities are never changed in place. Digest identifies what a question shows. */
export interface Entity {
  id: string; parent?: string; kind: Kind; role?: "user" | "assistant";
  title?: string; name?: string; class?: string; status?: string; content?: Content[];
  locations?: Location[]; input?: unknown; output?: unknown; dir?: string; exit?: Exit;
  steps?: Step[]; choices?: Choice[]; value?: string; digest?: string;
  usage?: Tokens; settings?: Setting[]; slash?: SlashCommand[]; updated?: string; meta?: unknown;
}

export interface Change {
  pos?: number; op: "upsert" | "append" | "remove"; id: string; entity?: Entity; text?: string; content?: Content[];
}

export interface Update { position: string; reset?: boolean; changes?: Change[] }

export interface SessionInfo { id: string; title?: string; dir?: string; created: string; updated: string; parent?: string; holder?: string }
export interface SessionPage { sessions: SessionInfo[]; scores?: Record<string, string>; next?: string }
export interface Config { title?: string; version?: string; accepts?: string[]; store?: boolean; commands?: SlashCommand[]; files?: boolean; scores?: boolean }

export type Part = { text: string } | { name: string; media_type: string; data: string };
export type Busy = "refuse" | "wait" | "steer";

/** The answer to a question. Exactly one field is set. */
export type Answer =
  | { choice: string }
  | { decision: { allow: boolean; args?: unknown; reason?: string } }
  | { reply: { action: "accept" | "decline" | "cancel"; content?: unknown } };

/** A rule that decides about calls before somebody is asked. */
export interface Permission { id: string; text: string; origin: string; removable: boolean }
