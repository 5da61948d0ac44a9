// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// SingleRunOption returns the name of the function that made o, such as "WithRunID", if o sets what belongs to a single run: its id,
// prompt, history, answers, inbox, meter or metadata, or the engine that executes it. It returns "" for nil and for options that all
// runs of an agent can share. Engines in other modules use it to refuse options that they set themselves for each run.
//
// [WithJournal] and [WithEngine] without an argument select the native engine, and are both reported as "WithEngine".
func SingleRunOption(o RunOption) string {
	if o == nil {
		return ""
	}
	// o is applied to marks that no caller can have. A mark that is gone tells what o sets, to nil as well.
	var (
		history  model.Message
		results  givenResults
		inbox    Inbox
		input    Input
		meter    toolset.Meter
		outside  seat
		journal  = &struct{ journal.Journal }{}
		metadata = map[string]string{"\x00": ""}
	)
	probe := runOptions{history: []*model.Message{&history}, moreOptions: &moreOptions{
		metadata: metadata, runID: "\x00", journal: journal,
		results: &results, inbox: &inbox, input: &input, meter: &meter, outer: outer{asking: &outside},
	}}
	o.applyRun(&probe)
	_, metadataKept := probe.metadata["\x00"]
	switch { // Within sets several of these, and WithInput adds parts: they come first
	case probe.outer.asking != &outside:
		return "Within"
	case probe.input != &input:
		return "WithInput"
	case len(probe.history) != 1 || probe.history[0] != &history:
		return "WithHistory"
	case len(probe.parts) > 0:
		return "WithParts"
	case !metadataKept:
		return "WithMetadata"
	case probe.resume:
		return "WithResume"
	case probe.runID != "\x00":
		return "WithRunID"
	case probe.results != &results:
		return "WithResults"
	case probe.inbox != &inbox:
		return "WithInbox"
	case probe.meter != &meter:
		return "WithMeter"
	case probe.journal == nil:
		return "WithEngine"
	case probe.journal != journal:
		return "WithJournal"
	}
	return ""
}
