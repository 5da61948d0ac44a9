// SPDX-License-Identifier: Apache-2.0
import type { Change, Content, Entity, Update } from "./types.ts";

/** What is shown at one moment: the entities in the order in which they first appeared. It is never changed. */
export interface Snapshot { readonly version: number; readonly entities: readonly Entity[]; readonly get: (id: string) => Entity | undefined }

/**
 * Fold applies changes in order, like view.Fold in Go. An entity that has changed is a new object, and one that has not is the same
 * object as before. Changes that make no sense, such as an append to an entity that is not there, are ignored.
 */
export class Fold {
  #nodes = new Map<string, Entity>();
  #version = 0;
  #snapshot: Snapshot | undefined;

  /** Applies an update. A reset clears what was there. */
  update(u: Update): void {
    if (u.reset) {
      this.#nodes = new Map();
      this.#touch();
    }
    for (const c of u.changes ?? []) this.apply(c);
  }

  /** Applies a change. It reports whether the change was understood. */
  apply(c: Change): boolean {
    if (!c || typeof c.id !== "string" || c.id === "") return false;
    const old = this.#nodes.get(c.id);
    switch (c.op) {
      case "upsert":
        if (!c.entity || typeof c.entity !== "object") return false;
        this.#nodes.set(c.id, c.entity.id === c.id ? c.entity : { ...c.entity, id: c.id });
        break;
      case "append":
        if (!old) return false;
        if (!c.text && !c.content?.length) return true;
        this.#nodes.set(c.id, { ...old, content: appended(old.content ?? [], c.text, c.content) });
        break;
      case "remove":
        if (!this.#nodes.delete(c.id)) return false;
        break;
      default:
        return false;
    }
    this.#touch();
    return true;
  }

  /** What is shown now. It is the same object until something changes. */
  snapshot(): Snapshot {
    if (!this.#snapshot) {
      const nodes = new Map(this.#nodes);
      this.#snapshot = { version: this.#version, entities: [...nodes.values()], get: (id) => nodes.get(id) };
    }
    return this.#snapshot;
  }

  #touch() {
    this.#version++;
    this.#snapshot = undefined;
  }
}

function appended(before: readonly Content[], text: string | undefined, more: readonly Content[] | undefined): Content[] {
  const content = before.slice();
  if (text) {
    const last = content[content.length - 1];
    if (last?.kind === "text") content[content.length - 1] = { ...last, text: (last.text ?? "") + text };
    else content.push({ kind: "text", text });
  }
  if (more) content.push(...more);
  return content;
}

/** The text of an entity's content, joined. */
export function textOf(e: Entity): string {
  return (e.content ?? []).map((c) => (c.kind === "text" ? (c.text ?? "") : "")).join("");
}

/** Whether nothing more is expected of something with a status. */
export function ended(status: string | undefined): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** Why an answer with a status is not whole, or the empty string. */
export function ending(status: string | undefined): string {
  switch (status) {
    case "stopped": return "Stopped";
    case "cut_off": return "Cut off: the answer is not complete";
    case "failed": return "Failed: the answer is not complete";
    case "interrupted": return "Interrupted: the program ended before the answer was complete";
  }
  return "";
}
