// SPDX-License-Identifier: Apache-2.0
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { APIError, type API } from "../client/api.ts";
import { ending, textOf } from "../client/fold.ts";
import { line } from "../client/text.ts";
import type { Tabs } from "../client/tabs.ts";
import type { Config, Entity, Setting, Tokens } from "../client/types.ts";
import { Watch } from "../client/watch.ts";
import { Composer } from "./composer.tsx";
import { PageContext, useMedia, type Page } from "./context.ts";
import { Icon, StatusMark } from "./icons.tsx";
import { nameOf } from "./item.tsx";
import { useScoring } from "./marks.tsx";
import { Dock } from "./question.tsx";
import { Transcript } from "./transcript.tsx";
import { Permissions } from "./permissions.tsx";
import { Queue } from "./waiting.tsx";

interface Props {
  api: API; tabs: Tabs; config: Config; session: string; fail: (err: unknown) => void; menu: () => void; go: (session: string) => void;
  changed: () => void; setTitle: (title: string) => void; removed: () => void;
  /** Makes a session. Renew takes its draft along, and the place of the one that is gone. */
  create: () => void; renew: (draft: string) => void; draft: string;
}

const apart = new Set(["plan", "usage", "options", "commands", "session", "waiting"]);
const none: readonly Entity[] = [];

/** What was typed and not sent, by session. */
const drafts = new Map<string, string>();

/** A session. It is made anew for each one. */
export function Chat(p: Props) {
  const [watch, setWatch] = useState<Watch>();
  useEffect(() => {
    const w = new Watch(p.tabs, p.session);
    setWatch(w);
    return () => w.close();
  }, [p.tabs, p.session]);
  return watch ? <Watched {...p} watch={watch} /> : null;
}

function Watched(p: Props & { watch: Watch }) {
  const { api, session, fail, watch } = p;
  const { snapshot, running, link, loaded, problem } = useSyncExternalStore(watch.subscribe, watch.state);
  const wide = useMedia("(min-width: 900px)");
  const [draft, setDraft] = useState(() => p.draft || (drafts.get(session) ?? ""));
  useEffect(() => void drafts.set(session, draft), [session, draft]);
  const opened = useRef(new Map<string, boolean>());

  const { items, children, questions } = useMemo(() => arrange(snapshot.entities, snapshot.get), [snapshot]);
  const waiting = useMemo(() => snapshot.entities.filter((e) => e.kind === "waiting"), [snapshot]);
  const one = <K extends Entity["kind"]>(kind: K) => snapshot.entities.findLast((e) => e.kind === kind);
  const title = one("session")?.title ?? "";
  const { setTitle } = p;
  useEffect(() => setTitle(title), [title, setTitle]);

  const files = p.config.files === undefined // the server has not said it yet
    ? "It is not known yet whether files go back too."
    : p.config.files
      ? "Files go back too. If one cannot, because the same lines were changed since, the conversation stays as it is."
      : "Files stay as they are.";
  const rewind = useCallback((e: Entity) => {
    if (!confirm("Take back this message and everything after it? " + files)) return;
    api.rewind(session, e.id).then(() => setDraft((d) => d || textOf(e)), fail);
  }, [api, session, fail, files]);
  const { go } = p;
  const [rules, setRules] = useState(""); // the session whose permissions are shown
  const fork = useCallback((e: Entity) => {
    api.fork(session, e.id).then((s) => go(s.id), fail);
  }, [api, session, fail, go]);
  const scoring = useScoring(api, session, p.config.scores === true, items, running, fail);
  const page = useMemo<Page>(() => ({
    api, session, wide, running, fail, rewind, fork, scoring, get: snapshot.get, children: (id) => children.get(id) ?? none,
    opened: (id) => opened.current.get(id), open: (id, is) => void opened.current.set(id, is),
  }), [api, session, wide, running, fail, rewind, fork, scoring, snapshot, children]);

  // The server forgets a session without a prompt that no client has followed for a while, for
  // example while the machine slept.
  const gone = link === "closed" && loaded && items.length === 0;
  const { renew } = p;
  useEffect(() => {
    if (gone) renew(draft);
  }, [gone]); // once, with the draft of that moment

  const last = items[items.length - 1];
  const worked = useRef(false); // what was there when the page was opened is not announced
  if (running) worked.current = true;
  const cut = !running && questions.length === 0 && last && last.role !== "user" && (ending(last.status) !== "" || last.status === "cancelled" || last.class === "warning" || last.class === "error");
  // A second press, here or in another tab, is refused because the first one began the turn.
  const prompt = (text: string) => api.prompt(session, [{ text }], "refuse").catch((err: unknown) => {
    if (!(err instanceof APIError && err.kind === "busy")) fail(err);
  });
  const set = (s: Setting, value: string) => void api.set(session, s.id, value).catch(fail);

  return (
    <PageContext value={page}>
      <main className="chat">
        <header>
          <button type="button" className="quiet square narrow" aria-label="Sessions" onClick={p.menu}><Icon name="menu" /></button>
          <h2 className="clip" dir="auto">{line(title) || "New session"}</h2>
          <Usage u={one("usage")?.usage} />
          <Menu {...p} title={title} permissions={() => setRules(session)} />
        </header>
        {rules === session && <Permissions api={api} session={session} fail={fail} close={() => setRules("")} />}
        {link !== "live" && (link !== "connecting" || loaded) && (
          <div className="connection" role="alert">
            <span>{link === "lost" ? "The connection is lost. Trying again." : link === "closed" ? "There is no such session." : problem || "Not connected."}</span>
            {link === "lost" && <button type="button" className="quiet" onClick={watch.retry}>Try now</button>}
            {link === "closed" && <button type="button" className="quiet" onClick={p.create}>New session</button>}
          </div>
        )}
        {items.length === 0 ? (
          <div className="empty">{link === "live" ? <p>What should be done?</p> : link === "closed" || link === "denied" ? null : <p className="dim">Loading</p>}</div>
        ) : (
          <Transcript items={items} running={running} foot={
            running && questions.length === 0 ? <p className="working"><span className="mark spin" /> Working</p> : cut ? <button type="button" onClick={() => void prompt("Go on.")}>Go on</button> : null
          } />
        )}
        <div className="bottom">
          <Plan e={one("plan")} />
          <Dock questions={questions} />
          <Queue all={waiting} />
          <Composer
            running={running} connected={link === "live"} draft={draft} setDraft={setDraft} fail={fail} accepts={p.config.accepts}
            commands={one("commands")?.slash ?? p.config.commands ?? []} settings={one("options")?.settings ?? []} set={set}
            stop={() => void api.cancel(session).catch(fail)}
            send={(parts, busy) => api.prompt(session, parts, busy).then(() => true, (err: unknown) => (fail(err), false))}
          />
        </div>
        <div className="sr" role="status" aria-live="polite">
          {questions[0] ? "Question: " + line(questions[0].title ?? "") : running ? "Working" : worked.current && last ? nameOf(last) + (last.role === "user" || last.kind === "notice" ? "" : " has " + (last.status === "failed" ? "failed" : last.status === "cancelled" ? "been stopped" : "finished")) : ""}
        </div>
      </main>
    </PageContext>
  );
}

/** What is listed, what is inside of something else, and what waits for an answer. */
function arrange(all: readonly Entity[], get: (id: string) => Entity | undefined) {
  const items: Entity[] = [], questions: Entity[] = [];
  const children = new Map<string, Entity[]>();
  const shown = new Set<string>(); // commands that calls show
  for (const e of all) for (const c of e.content ?? []) if (c.kind === "command" && c.ref) shown.add(c.ref);
  for (const e of all) {
    if (apart.has(e.kind)) continue;
    if (e.kind === "question" && e.status === "pending") questions.push(e);
    if (e.kind === "command" && shown.has(e.id)) continue;
    const parent = e.parent && e.parent !== e.id && within(e, get) ? e.parent : "";
    if (!parent) {
      if (e.kind !== "question" || e.status !== "pending") items.push(e);
      continue;
    }
    const of = children.get(parent);
    if (of) of.push(e);
    else children.set(parent, [e]);
  }
  return { items, children, questions };
}

/** Whether the parents of an entity are there and end somewhere. */
function within(e: Entity, get: (id: string) => Entity | undefined): boolean {
  let depth = 0;
  for (let at: Entity | undefined = e; at?.parent; depth++) {
    at = get(at.parent);
    if (!at || depth > 20) return false;
  }
  return true;
}

function Usage({ u }: { u: Tokens | undefined }) {
  if (!u) return null;
  const k = (n: number) => (n >= 1000 ? Math.round(n / 1000) + "k" : String(n));
  const cost = u.cost && u.currency ? u.cost.toFixed(u.cost < 1 ? 3 : 2) + " " + line(u.currency) : "";
  return <span className="usage dim" title="Tokens in the context, and what the session has cost">{k(u.used)}{u.size ? " of " + k(u.size) : ""} tokens{cost && " · " + cost}</span>;
}

function Plan({ e }: { e: Entity | undefined }) {
  const [open, setOpen] = useState(false);
  const steps = e?.steps ?? [];
  if (steps.length === 0) return null;
  const done = steps.filter((s) => s.status === "completed").length;
  const now = steps.find((s) => s.status === "in_progress") ?? steps.find((s) => s.status !== "completed");
  if (!now && !open) return null;
  return (
    <section className="plan" aria-label="Plan">
      <button type="button" className="quiet unfold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span className="label">Plan</span> <span className="dim">{done} of {steps.length}</span> <span className="clip">{line(now?.text ?? "")}</span>
      </button>
      {open && <ol>{steps.map((s, i) => <li key={i} className={s.status}><StatusMark status={s.status} /> <span dir="auto">{line(s.text)}</span>{s.priority === "high" && <span className="tag">high</span>}</li>)}</ol>}
    </section>
  );
}

/** What can be done with the session. */
function Menu(p: Props & { title: string; permissions: () => void }) {
  const rename = () => {
    const title = prompt("The title of the session", p.title);
    if (title?.trim()) p.api.rename(p.session, title.trim()).then(p.changed, p.fail);
  };
  const fork = () => p.api.fork(p.session).then((s) => p.go(s.id), p.fail);
  const remove = () => {
    if (confirm("Delete this session permanently?")) p.api.remove(p.session).then(p.removed, p.fail);
  };
  const details = useRef<HTMLDetailsElement>(null);
  const act = (f: () => void) => () => {
    if (details.current) details.current.open = false;
    f();
  };
  return (
    <details ref={details} className="menu" onKeyDown={(ev) => {
      if (ev.key === "Escape") act(() => undefined)();
    }}>
      <summary className="quiet" aria-label="Session menu" title="Session menu">⋯</summary>
      <div>
        <button type="button" className="quiet" onClick={act(rename)}>Rename</button>
        <button type="button" className="quiet" onClick={act(fork)}>Fork</button>
        <button type="button" className="quiet" onClick={act(p.permissions)}>Permissions</button>
        <button type="button" className="quiet bad" onClick={act(remove)}>Delete</button>
      </div>
    </details>
  );
}
