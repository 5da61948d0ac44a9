// SPDX-License-Identifier: Apache-2.0
import { useState } from "react";
import { textOf } from "../client/fold.ts";
import { line } from "../client/text.ts";
import type { Entity } from "../client/types.ts";
import { usePage } from "./context.ts";

/** The prompts that wait for their turns. They can be changed and removed, in the version that is shown. */
export function Queue({ all }: { all: readonly Entity[] }) {
  if (all.length === 0) return null;
  return (
    <section className="queue" aria-label="Waiting prompts">
      {all.map((e) => <Waiting key={e.id} e={e} />)}
    </section>
  );
}

function Waiting({ e }: { e: Entity }) {
  const page = usePage();
  const [edited, setEdited] = useState<{ text: string; digest: string | undefined }>();
  const [sent, setSent] = useState(false);
  const content = e.content ?? [];
  const plain = content.every((c) => c.kind === "text");
  const files = content.filter((c) => c.kind !== "text").length;
  const act = (what: Promise<void>) => {
    setSent(true);
    what.then(() => setEdited(undefined), page.fail).finally(() => setSent(false));
  };
  if (edited) {
    const save = () => act(page.api.editWaiting(page.session, { ...e, digest: edited.digest }, edited.text.trim()));
    return (
      <form className="waits" onSubmit={(ev) => {
        ev.preventDefault();
        save();
      }}>
        <textarea aria-label="Waiting prompt" autoFocus rows={3} value={edited.text} onChange={(ev) => setEdited({ ...edited, text: ev.target.value })} />
        <button type="submit" className="primary small" disabled={sent || !edited.text.trim()}>Save</button>
        <button type="button" className="quiet small" onClick={() => setEdited(undefined)}>Cancel</button>
      </form>
    );
  }
  return (
    <div className="waits">
      <span className="tag">waits</span>
      <span className="clip" dir="auto">{line(textOf(e))}{files > 0 && <span className="dim"> with {files === 1 ? "a file" : files + " files"}</span>}</span>
      {plain && <button type="button" className="quiet small" disabled={sent} onClick={() => setEdited({ text: textOf(e), digest: e.digest })}>Edit</button>}
      <button type="button" className="quiet small" disabled={sent} onClick={() => act(page.api.removeWaiting(page.session, e))}>Remove</button>
    </div>
  );
}
