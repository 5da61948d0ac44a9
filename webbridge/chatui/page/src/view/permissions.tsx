// SPDX-License-Identifier: Apache-2.0
import { useCallback, useEffect, useState } from "react";
import type { API } from "../client/api.ts";
import { line } from "../client/text.ts";
import type { Permission } from "../client/types.ts";

/** The rules that decide about calls before somebody is asked. Those that can be taken back have a button. */
export function Permissions({ api, session, fail, close }: { api: API; session: string; fail: (err: unknown) => void; close: () => void }) {
  const [all, setAll] = useState<readonly Permission[]>();
  const [sent, setSent] = useState("");
  const read = useCallback(() => api.permissions(session).then((p) => setAll(p.permissions ?? []), fail), [api, session, fail]);
  useEffect(() => void read(), [read]);
  const drop = (id: string) => {
    setSent(id);
    void api.dropPermission(session, id).catch(fail).then(read).finally(() => setSent(""));
  };
  return (
    <section className="queue" aria-label="Permissions">
      <div className="waits">
        <strong className="clip">Permissions</strong>
        <button type="button" className="quiet small" onClick={close}>Close</button>
      </div>
      {all?.map((p) => (
        <div key={p.id} className="waits">
          <span className="clip" dir="auto" title={line(p.text)}><code>{line(p.text)}</code> <span className="dim">{line(p.origin)}</span></span>
          {p.removable && <button type="button" className="quiet small" disabled={sent !== ""} onClick={() => drop(p.id)}>Take back</button>}
        </div>
      ))}
      {all?.length === 0 && <p className="waits dim">No rules decide about calls: each is asked about.</p>}
    </section>
  );
}
