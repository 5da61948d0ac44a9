// SPDX-License-Identifier: Apache-2.0
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { API, APIError } from "../client/api.ts";
import { composes, isApple, isTyping, shortcut } from "../client/keys.ts";
import { attend, Tabs } from "../client/tabs.ts";
import { prose } from "../client/text.ts";
import type { Config } from "../client/types.ts";
import { Chat } from "./chat.tsx";
import { Icon } from "./icons.tsx";
import { Sidebar } from "./sidebar.tsx";

const api = new API(new URL("api/", document.baseURI).href);
const tabs = new Tabs(api, typeof BroadcastChannel === "function" ? (name) => new BroadcastChannel(name) : undefined, "ponte:" + api.base);
const apple = isApple(navigator.platform);
const themes = ["auto", "light", "dark"];

/** The session that the address names. */
function useSession(): string {
  return useSyncExternalStore(
    (f) => {
      addEventListener("hashchange", f);
      return () => removeEventListener("hashchange", f);
    },
    () => {
      try {
        return decodeURIComponent(/^#\/s\/([^/]+)$/.exec(location.hash)?.[1] ?? "");
      } catch {
        return "";
      }
    },
  );
}

function go(session: string) {
  location.hash = session ? "#/s/" + encodeURIComponent(session) : "";
}

function useTheme(): [string, () => void] {
  const [theme, setTheme] = useState(() => {
    const kept = localStorage.getItem("theme") ?? "";
    return themes.includes(kept) ? kept : "auto";
  });
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme;
    localStorage.setItem("theme", theme);
  }, [theme]);
  return [theme, () => setTheme(themes[(themes.indexOf(theme) + 1) % themes.length]!)];
}

export function App() {
  const session = useSession();
  const [theme, setTheme] = useTheme();
  const [config, setConfig] = useState<Config>({});
  const [problem, setProblem] = useState("");
  const [menu, setMenu] = useState(false);
  const [named, setNamed] = useState("");
  const [stamp, setStamp] = useState(0);
  const creating = useRef(false);

  const fail = useCallback((err: unknown) => {
    if (err instanceof APIError && err.status === 404 && err.kind === "not_found") setStamp((n) => n + 1);
    setProblem(err instanceof Error ? err.message : String(err));
  }, []);
  const changed = useCallback(() => setStamp((n) => n + 1), []);
  const draft = useRef("");
  const create = useCallback(async (text = "") => {
    if (creating.current) return;
    creating.current = true;
    try {
      const s = await api.create();
      draft.current = text;
      go(s.id);
      setMenu(false);
      changed();
    } catch (err) {
      fail(err);
    } finally {
      creating.current = false;
    }
  }, [changed, fail]);

  useEffect(() => attend(tabs), []);
  useEffect(() => {
    api.config().then(setConfig, fail);
  }, [fail]);
  useEffect(() => {
    setNamed("");
    draft.current = ""; // the session that it was meant for has it
  }, [session]);
  useEffect(() => {
    const name = config.title || "Chat";
    document.title = named ? prose(named) + " · " + name : name;
  }, [named, config.title]);
  useEffect(() => {
    const f = (ev: KeyboardEvent) => {
      if (shortcut(ev, apple) === "c") {
        ev.preventDefault();
        void create();
      } else if (ev.key === "/" && !ev.ctrlKey && !ev.metaKey && !ev.altKey && !composes(ev) && !isTyping(ev)) {
        ev.preventDefault();
        document.querySelector<HTMLTextAreaElement>(".composer textarea")?.focus();
      }
    };
    addEventListener("keydown", f);
    return () => removeEventListener("keydown", f);
  }, [create]);

  return (
    <div className="page">
      <Sidebar
        api={api} tabs={tabs} title={config.title || "Chat"} current={session} stamp={stamp} named={named} create={() => void create()} open={menu}
        close={() => setMenu(false)} fail={fail} theme={theme} setTheme={setTheme}
      />
      {menu && <div className="shade" onClick={() => setMenu(false)} />}
      {session ? (
        <Chat
          key={session} api={api} tabs={tabs} config={config} session={session} fail={fail} menu={() => setMenu(true)} go={go} changed={changed} setTitle={setNamed}
          create={() => void create()} renew={(text) => void create(text)} draft={draft.current}
          removed={() => {
            go("");
            changed();
          }}
        />
      ) : (
        <main className="chat">
          <header><button type="button" className="quiet square narrow" aria-label="Sessions" onClick={() => setMenu(true)}><Icon name="menu" /></button></header>
          <div className="empty"><button type="button" className="primary" onClick={() => void create()}><Icon name="plus" /> New session</button></div>
        </main>
      )}
      {problem && (
        <div className="toast" role="alert">
          <span>{prose(problem)}</span>
          <button type="button" className="quiet" onClick={() => setProblem("")}>Dismiss</button>
        </div>
      )}
    </div>
  );
}
