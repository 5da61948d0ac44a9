// SPDX-License-Identifier: Apache-2.0
import { createContext, useContext, useSyncExternalStore } from "react";
import type { API } from "../client/api.ts";
import type { Entity } from "../client/types.ts";
import type { Scoring } from "./marks.tsx";

/** What the parts of a transcript need of the page. */
export interface Page {
  api: API;
  session: string;
  wide: boolean;
  get: (id: string) => Entity | undefined;
  children: (id: string) => readonly Entity[];
  /** Whether something was unfolded or folded by hand, and to set that. It outlives the elements, which come and go with scrolling. */
  opened: (id: string) => boolean | undefined;
  open: (id: string, is: boolean) => void;
  running: boolean;
  fail: (err: unknown) => void;
  rewind: (e: Entity) => void;
  fork: (e: Entity) => void;
  scoring: Scoring | undefined;
}

export const PageContext = createContext<Page | null>(null);

export function usePage(): Page {
  const page = useContext(PageContext);
  if (!page) throw new Error("outside of a page");
  return page;
}

/** Whether a media query holds. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (f) => {
      const m = matchMedia(query);
      m.addEventListener("change", f);
      return () => m.removeEventListener("change", f);
    },
    () => matchMedia(query).matches,
  );
}
