// SPDX-License-Identifier: Apache-2.0
import { useEffect, useId, useMemo, useRef, useState } from "react";
import { isApple, isHeld, modifier, shortcut } from "../client/keys.ts";
import { line, pretty, prose } from "../client/text.ts";
import type { Answer, Entity } from "../client/types.ts";
import { Plain, Piece } from "./content.tsx";
import { usePage } from "./context.ts";
import { QuestionForm } from "./form.tsx";
import { Link } from "./markdown.tsx";

/** The time that a question is shown before an answer counts, so that a key that was meant for something else answers nothing. */
const settle = 400;

/** The questions that wait, the first of them with its buttons. */
export function Dock({ questions }: { questions: readonly Entity[] }) {
  const q = questions[0];
  if (!q) return null;
  return (
    <section className="dock" aria-label="Question" onKeyDown={(ev) => {
      if (isHeld(ev) && !(ev.target instanceof HTMLTextAreaElement)) ev.preventDefault();
    }}>
      {questions.length > 1 && <p className="dim count">1 of {questions.length} questions</p>}
      {q.choices?.length ? <Approval key={q.id} q={q} /> : q.input !== undefined ? <Form key={q.id + " " + q.digest} q={q} /> : (
        <p className="note">{line(q.title ?? q.name ?? "A call")} waits for a result from outside.</p>
      )}
    </section>
  );
}

/**
 * Sends one answer. It reports what is in the way: that an answer was sent, or that what is shown has changed a moment ago. A question that is
 * asked again can be answered again.
 */
function useAnswer(q: Entity, shown: string): [ready: boolean, send: (a: Answer) => void] {
  const page = usePage();
  const [armed, setArmed] = useState("");
  const [sent, setSent] = useState<Entity>();
  const sending = useRef<Entity>(undefined);
  useEffect(() => {
    const t = setTimeout(() => setArmed(shown), settle);
    return () => clearTimeout(t);
  }, [shown]);
  const ready = armed === shown && sent !== q;
  const send = (a: Answer) => {
    if (!ready || sending.current === q) return;
    sending.current = q;
    setSent(q);
    page.api.answer(page.session, q, a).catch((err: unknown) => {
      if (sending.current === q) sending.current = undefined;
      setSent((now) => (now === q ? undefined : now));
      page.fail(err);
    });
  };
  return [ready, send];
}

const apple = isApple(navigator.platform);
const aria = apple ? "Control+" : "Alt+";
const keys: Record<string, string> = { allow_once: "y", reject_once: "n" };

function Approval({ q }: { q: Entity }) {
  const page = usePage();
  const heading = useId();
  const parent = page.get(q.parent ?? "");
  const call = parent?.kind === "tool_call" ? parent : undefined;
  const original = useMemo(() => (call?.input === undefined ? undefined : pretty(call.input)), [call?.input]);
  const [edited, setEdited] = useState<string>();
  const [reason, setReason] = useState<string>();
  // Whatever is shown counts: when any of it changes, what was about to be pressed is not pressed.
  const shown = useMemo(() => JSON.stringify([q.id, q.digest, q.title, q.content, q.choices, original, edited !== undefined]), [q, original, edited === undefined]);
  const [ready, send] = useAnswer(q, shown);
  const args = useMemo(() => (edited === undefined ? undefined : parsed(edited)), [edited]);

  const choose = (id: string) => send({ choice: id });
  const first = (kind: string) => q.choices?.find((c) => (c.class || c.id) === kind);
  const edit = () => setEdited(edited === undefined ? original : undefined);
  const act = useRef<(key: string) => boolean>(() => false);
  act.current = (key) => {
    if (key === "e" && original !== undefined) edit();
    else if (key === "y" && edited === undefined && first("allow_once")) choose(first("allow_once")!.id);
    else if (key === "n" && first("reject_once")) choose(first("reject_once")!.id);
    else return false;
    return true;
  };
  useEffect(() => {
    const f = (ev: KeyboardEvent) => {
      if (act.current(shortcut(ev, apple))) ev.preventDefault();
    };
    window.addEventListener("keydown", f);
    return () => window.removeEventListener("keydown", f);
  }, []);

  return (
    <div role="group" aria-labelledby={heading} className="approval">
      <h2 id={heading}>{line(q.title || q.name || "Allow this?")}{q.name && <span className="dim name"> {line(q.name)}</span>}</h2>
      <div className="preview" tabIndex={0} role="region" aria-label="What will be done">
        {(q.content ?? []).map((c, i) => <Piece key={i} c={c} as="plain" whole />)}
        {original !== undefined && edited === undefined && original !== "{}" && (
          <details open={!q.content?.length}>
            <summary>Arguments</summary>
            <Plain text={original} language="json" whole />
          </details>
        )}
        {edited !== undefined && (
          <label className="edit">
            <span>Arguments, as JSON. The call runs with these arguments.</span>
            <textarea autoFocus spellCheck={false} dir="ltr" rows={Math.min(16, edited.split("\n").length + 1)} value={edited} onChange={(ev) => setEdited(ev.target.value)} aria-invalid={!args} />
            {!args && <span className="bad" role="alert">This is not a JSON object.</span>}
          </label>
        )}
      </div>
      {reason !== undefined && (
        <label className="edit">
          <span>What should the agent do instead?</span>
          <textarea autoFocus rows={2} value={reason} onChange={(ev) => setReason(ev.target.value)} />
        </label>
      )}
      <div className="buttons" key={q.digest}>
        {edited !== undefined ? (
          <>
            <button type="button" className="primary" disabled={!ready || !args} onClick={() => args && send({ decision: { allow: true, args: args.value } })}>Allow with these arguments</button>
            <button type="button" onClick={() => setEdited(undefined)}>Discard changes</button>
          </>
        ) : reason !== undefined ? (
          <>
            <button type="button" className="danger" disabled={!ready || !reason.trim()} onClick={() => send({ decision: { allow: false, reason: reason.trim() } })}>Reject and tell</button>
            <button type="button" onClick={() => setReason(undefined)}>Back</button>
          </>
        ) : (
          <>
            {(q.choices ?? []).map((c) => (
              <button
                key={c.id} type="button" disabled={!ready} onClick={() => choose(c.id)} title={c.description}
                className={(c.class || c.id) === "allow_once" ? "primary" : /reject/.test(c.class || c.id) ? "danger" : ""}
                aria-keyshortcuts={keys[c.class || c.id] ? aria + keys[c.class || c.id] : undefined}
              >{line(c.title || c.id)}{keys[c.class || c.id] && <kbd aria-hidden="true">{modifier(apple)} {keys[c.class || c.id]!.toUpperCase()}</kbd>}</button>
            ))}
            {original !== undefined && <button type="button" onClick={edit} aria-keyshortcuts={aria + "e"}>Edit arguments<kbd aria-hidden="true">{modifier(apple)} E</kbd></button>}
            {first("reject_once") && <button type="button" onClick={() => setReason("")}>Reject with a reason</button>}
          </>
        )}
      </div>
    </div>
  );
}

function parsed(text: string): { value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { value } : undefined;
  } catch {
    return undefined;
  }
}

/** A question that a tool asks, as a form. */
function Form({ q }: { q: Entity }) {
  const heading = useId();
  const [ready, send] = useAnswer(q, JSON.stringify([q.id, q.digest, q.title, q.input, q.content]));
  const links = (q.content ?? []).filter((c) => c.kind === "link");
  return (
    <div role="group" aria-labelledby={heading} className="approval">
      <h2 id={heading} dir="auto">{prose(q.title || "The agent asks")}</h2>
      <div className="preview">
        {(q.content ?? []).map((c, i) => (c.kind === "link" ? <p key={i}><Link href={c.uri ?? ""} text={c.uri ?? ""}>{prose(c.uri ?? "")}</Link></p> : <Piece key={i} c={c} as="plain" whole />))}
        <QuestionForm
          schema={q.input} ready={ready} done={links.length > 0 ? "I have done this" : "Answer"}
          accept={(content) => send({ reply: { action: "accept", content } })}
          decline={() => send({ reply: { action: "decline" } })}
          cancel={() => send({ reply: { action: "cancel" } })}
        />
      </div>
    </div>
  );
}
