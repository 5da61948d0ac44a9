// SPDX-License-Identifier: Apache-2.0
import type { Score } from "./scores.ts";
import type { Answer, Busy, Config, Entity, Part, Permission, SessionInfo, SessionPage } from "./types.ts";

/** A request that the server has refused, or that did not reach it. Status is 0 for the latter. */
export class APIError extends Error {
  constructor(readonly status: number, readonly kind: string, message: string) {
    super(message);
    this.name = "APIError";
  }
}

/** Reads the error that the server gave with a response. */
export async function errorOf(r: Response): Promise<APIError> {
  let kind = "", message = "";
  try {
    const body = (await r.json()) as { error?: { kind?: string; message?: string } };
    kind = String(body.error?.kind ?? "");
    message = String(body.error?.message ?? "");
  } catch {
    // it has no JSON body
  }
  if (r.status === 401) message ||= "You are not signed in. Sign in again, or open the address that the program printed when it started.";
  return new APIError(r.status, kind, message || `The server answered ${r.status}.`);
}

/** The JSON API below a base URL, such as "api/" beside the page. */
export class API {
  constructor(readonly base: string, private readonly fetcher: typeof fetch = (...a) => fetch(...a)) {}

  config = () => this.#call<Config>("GET", "config");

  sessions(q: { q?: string; cursor?: string; limit?: number; signal?: AbortSignal }): Promise<SessionPage> {
    const p = new URLSearchParams();
    if (q.q) p.set("q", q.q);
    if (q.cursor) p.set("cursor", q.cursor);
    p.set("limit", String(q.limit ?? 50));
    return this.#call("GET", "sessions?" + p.toString(), undefined, q.signal);
  }

  create = (title?: string) => this.#call<SessionInfo>("POST", "sessions", title ? { title } : {});
  session = (id: string) => this.#call<SessionInfo>("GET", at(id));
  rename = (id: string, title: string) => this.#call<SessionInfo>("PATCH", at(id), { title });
  remove = (id: string) => this.#call<void>("DELETE", at(id));
  prompt = (id: string, parts: Part[], busy: Busy) => this.#call<{ turn: string }>("POST", at(id, "prompts"), { parts, busy });
  /** Answers a question as it was shown, which its digest identifies. */
  answer = (id: string, q: Pick<Entity, "id" | "digest">, a: Answer) => this.#call<void>("POST", at(id, "questions", q.id), { digest: q.digest ?? "", ...a });
  cancel = (id: string) => this.#call<void>("POST", at(id, "cancel"), {});
  rewind = (id: string, before: string) => this.#call<void>("POST", at(id, "rewind"), { before });
  fork = (id: string, before?: string) => this.#call<SessionInfo>("POST", at(id, "fork"), before ? { before } : {});
  scores = (id: string) => this.#call<{ scores?: Score[] }>("GET", at(id, "scores"));
  /** Marks the answer to a prompt, in place of the user's earlier mark. */
  mark = (id: string, prompt: string, good: boolean, reason: string) => this.#call<void>("PUT", at(id, "scores", prompt), { good, reason });
  /** Changes or removes a prompt that waits, in the version that was shown, which its digest is. */
  editWaiting = (id: string, e: Pick<Entity, "id" | "digest">, text: string) => this.#call<void>("PUT", waits(id, e), { version: Number(e.digest), parts: [{ text }] });
  removeWaiting = (id: string, e: Pick<Entity, "id" | "digest">) => this.#call<void>("DELETE", waits(id, e), { version: Number(e.digest) });
  /** The rules that decide about calls of a session, and to take one back. */
  permissions = (id: string) => this.#call<{ permissions?: Permission[] }>("GET", at(id, "permissions"));
  dropPermission = (id: string, permission: string) => this.#call<void>("DELETE", at(id, "permissions", permission));
  set = (id: string, setting: string, value: string) => this.#call<void>("PUT", at(id, "settings", setting), { value });

  /** Opens the stream of sessions after positions, and of the list. */
  async feed(all: readonly { session: string; from: string }[], signal: AbortSignal): Promise<Response> {
    const p = new URLSearchParams({ list: "true" });
    for (const f of all) {
      p.append("follow", f.session);
      p.append("from", f.from);
    }
    const r = await this.#fetch("events?" + p.toString(), { headers: { Accept: "text/event-stream" }, signal });
    if (!r.ok) throw await errorOf(r);
    return r;
  }

  async #call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
    const init: RequestInit = { method, headers: { Accept: "application/json" } };
    if (signal) init.signal = signal;
    if (method !== "GET") {
      init.headers = { Accept: "application/json", "Content-Type": "application/json" };
      if (body !== undefined) init.body = JSON.stringify(body);
    }
    const r = await this.#fetch(path, init);
    if (!r.ok) throw await errorOf(r);
    const text = await r.text();
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    try {
      return await this.fetcher(this.base + path, { credentials: "same-origin", cache: "no-store", redirect: "error", ...init });
    } catch (err) {
      if (init.signal?.aborted) throw err;
      throw new APIError(0, "unreachable", "The server cannot be reached. Check that the program is still running.");
    }
  }
}

function at(id: string, ...more: string[]): string {
  return ["sessions", id, ...more].map(encodeURIComponent).join("/");
}

function waits(id: string, e: Pick<Entity, "id">): string {
  return at(id, "waiting", e.id.replace(/^waiting:/, "").replace(/%2F/g, "/").replace(/%25/g, "%"));
}
