// SPDX-License-Identifier: Apache-2.0
import type { Entity } from "./types.ts";

/** A score of the turn of a prompt: a person's mark, or what an evaluator said. The value is 1 for a yes and 0 for a no. */
export interface Score { prompt: string; mine: boolean; by: string; mark: boolean; name: string; value: number; label?: string; reason?: string }

/** The answers that can be marked, each with the prompt of its turn: the last message of the agent in each turn that has ended. */
export function answers(items: readonly Entity[], running: boolean): Map<string, string> {
  const all = new Map<string, string>();
  let prompt = "", last = "";
  const end = () => {
    if (prompt && last) all.set(last, prompt);
    last = "";
  };
  for (const e of items) {
    if (e.kind !== "message") continue;
    if (e.role !== "user") last = e.id;
    else if (e.id.startsWith("prompt:")) { // others were said during the turn
      end();
      prompt = e.id;
    }
  }
  if (!running) end();
  return all;
}

/** What is known of a turn: the user's own mark, and the scores that others gave. */
export function about(scores: readonly Score[], prompt: string): { mine: Score | undefined; others: Score[] } {
  const of = scores.filter((s) => s.prompt === prompt);
  return { mine: of.find((s) => s.mine), others: of.filter((s) => !s.mine) };
}
