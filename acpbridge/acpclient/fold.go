// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"slices"
	"strconv"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/acpview"
)

// Ids of the entities that a session has one of. Others are made of a kind and the protocol's id,
// such as "call:ID".
const (
	PlanID     = "plan"
	CommandsID = "commands"
	OptionsID  = "options"
	SessionID  = "session"
	UsageID    = "usage"

	modeOption = "mode"
)

// Fold folds updates of one session into entities, without a connection: for transcripts. The zero
// value is empty. It is not safe for concurrent use, but the [view.Fold] that View returns is.
type Fold struct{ folder folder }

// Apply folds an update. It returns a [*ProtocolError] for an update of a kind that is not known,
// which changes nothing.
func (f *Fold) Apply(u *acp.SessionUpdate) error {
	if problem := f.folder.apply(u); problem != "" {
		return &ProtocolError{Method: acp.MethodSessionUpdate, Problem: problem}
	}
	return nil
}

// Prompt begins a turn, with the prompt as the user's message.
func (f *Fold) Prompt(prompt ...acp.ContentBlock) { f.folder.beginTurn(prompt) }

// View returns the entities.
func (f *Fold) View() *view.Fold { return &f.folder.view }

// folder turns the updates of a session into changes of entities. Chunks of a message without an id
// belong together until something else is said or done. The session's mu guards it, except for
// view, which guards itself.
type folder struct {
	view  view.Fold
	limit int // bytes; 0 means none
	size  int
	full  bool // the limit has been reached

	said map[string][]view.Entity // what agents said of calls, and took back

	chunks   map[chunkKey]string // entities of messages and thoughts with ids of the protocol
	open     string              // the entity that chunks without an id go on with
	openKind chunkKind
	next     int
	inTurn   bool
	messages []string // the agent's, of this turn
	waiting  []string // entities of the prompts that wait

	echo  string // what the user has said in this turn, as far as the agent has not repeated it
	heard int    // bytes of it that it has
	list  []view.Setting
	modes *values
}

type chunkKind uint8

const (
	userChunk chunkKind = iota + 1
	agentChunk
	thoughtChunk
)

type chunkKey struct {
	kind chunkKind
	id   acp.MessageID
}

// apply folds an update. It returns what is wrong with it, if anything is.
func (f *folder) apply(u *acp.SessionUpdate) (problem string) {
	if f.over() {
		return ""
	}
	switch {
	case u.AgentMessageChunk != nil:
		f.chunk(agentChunk, u.AgentMessageChunk)
	case u.AgentThoughtChunk != nil:
		f.chunk(thoughtChunk, u.AgentThoughtChunk)
	case u.UserMessageChunk != nil:
		f.userChunk(u.UserMessageChunk)
	case u.ToolCall != nil:
		f.call(new(acpview.Update(u.ToolCall)))
	case u.ToolCallUpdate != nil:
		f.call(u.ToolCallUpdate)
	case u.Plan != nil:
		f.put(&view.Entity{ID: PlanID, Kind: view.Plan, Steps: acpview.StepsOf(u.Plan), Meta: metaOf(u.Plan.Meta)})
	case u.AvailableCommandsUpdate != nil:
		f.put(&view.Entity{ID: CommandsID, Kind: view.Commands, Slash: commandsOf(u.AvailableCommandsUpdate.AvailableCommands)})
	case u.CurrentModeUpdate != nil:
		f.setMode(u.CurrentModeUpdate.CurrentModeID)
	case u.ConfigOptionUpdate != nil:
		f.setOptions(nil, u.ConfigOptionUpdate.ConfigOptions)
	case u.SessionInfoUpdate != nil:
		f.info(u.SessionInfoUpdate)
	case u.UsageUpdate != nil:
		t := &view.Tokens{Used: u.UsageUpdate.Used, Size: u.UsageUpdate.Size}
		if c := u.UsageUpdate.Cost; c != nil {
			t.Cost, t.Currency = c.Amount, c.Currency
		}
		f.put(&view.Entity{ID: UsageID, Kind: view.Usage, Usage: t})
	case u.Notice != nil:
		e := acpview.NoticeOf(u.Notice)
		e.ID = f.id("notice-")
		f.replace(nil, e)
	case u.CompactionUpdate != nil:
		f.compaction(u.CompactionUpdate)
	case u.CompactionSummaryChunk != nil:
		f.summary(u.CompactionSummaryChunk)
	default:
		return "an update of an unknown kind"
	}
	return ""
}

// over reports whether the limit has been reached, and notes it.
func (f *folder) over() bool {
	f.full = f.full || f.limit > 0 && f.size > f.limit
	return f.full
}

// put makes or replaces an entity. It cannot fail: the entity has an id, and the view ends only
// with the session.
func (f *folder) put(e *view.Entity) {
	_ = f.view.Apply(view.Change{Op: view.Upsert, ID: e.ID, Entity: e})
}

// replace puts an entity in the place of what is known of it, nil if it is new.
func (f *folder) replace(known, e *view.Entity) {
	if known != nil {
		f.size -= entitySize(known)
	}
	f.size += entitySize(e)
	f.put(e)
}

func (f *folder) id(prefix string) string {
	f.next++
	return prefix + strconv.Itoa(f.next)
}

// chunk adds a piece of a message or thought.
func (f *folder) chunk(kind chunkKind, c *acp.ContentChunk) {
	if kind != userChunk {
		f.echo, f.heard = "", 0
	}
	id := f.open
	switch {
	case c.MessageID != "":
		id = f.chunks[chunkKey{kind, c.MessageID}]
	case f.openKind != kind:
		id = ""
	}
	status, fresh := view.Status(""), id == ""
	if kind == agentChunk {
		status = acpview.StatusOf(c)
	}
	switch {
	case fresh && status != "":
		id = f.newMessage(kind, c.MessageID, nil)
	case fresh:
		id = f.newMessage(kind, c.MessageID, []acp.ContentBlock{c.Content})
	}
	f.open, f.openKind = id, kind
	if c.MessageID != "" {
		f.open, f.openKind = "", 0
	}
	switch {
	case status != "":
		f.ended(id, status)
	case !fresh:
		f.add(id, &c.Content)
	}
}

// ended notes how a message ended.
func (f *folder) ended(id string, status view.Status) {
	e := *f.view.Get(id)
	e.Status = status
	f.put(&e)
}

// newMessage makes a message or thought. Nobody sees it without its first content.
func (f *folder) newMessage(kind chunkKind, id acp.MessageID, first []acp.ContentBlock) string {
	e := &view.Entity{Kind: view.Message, Role: view.Assistant}
	for i := range first {
		c := acpview.ContentOf(&first[i])
		if n := len(e.Content); n > 0 && c.Kind == view.Text && e.Content[n-1].Kind == view.Text {
			e.Content[n-1].Text += c.Text
		} else if c.Kind != view.Text || c.Text != "" {
			e.Content = append(e.Content, c)
		}
	}
	prefix := "message-"
	switch kind {
	case userChunk:
		e.Role = view.User
	case thoughtChunk:
		e.Kind, e.Role, prefix = view.Thought, "", "thought-"
	}
	e.ID = f.id(prefix)
	if id != "" {
		if f.chunks == nil {
			f.chunks = map[chunkKey]string{}
		}
		f.chunks[chunkKey{kind, id}] = e.ID
		f.size += len(id)
	}
	if kind == agentChunk && f.inTurn {
		f.messages = append(f.messages, e.ID)
	}
	f.replace(nil, e)
	return e.ID
}

// add adds content to an entity.
func (f *folder) add(id string, b *acp.ContentBlock) {
	c := acpview.ContentOf(b)
	f.size += sizeOf(&c)
	change := view.Change{Op: view.Append, ID: id, Text: c.Text}
	if c.Kind != view.Text {
		change = view.Change{Op: view.Append, ID: id, Content: []view.Content{c}}
	}
	_ = f.view.Apply(change)
}

// userChunk adds a piece of what the user said. Some agents repeat the prompt, which is shown
// already.
func (f *folder) userChunk(c *acp.ContentChunk) {
	if f.echo != "" && c.Content.Text != nil {
		text := c.Content.Text.Text
		rest := f.echo[f.heard:]
		if len(text) <= len(rest) && rest[:len(text)] == text {
			f.heard += len(text)
			return
		}
		// It is something else after all: what was taken for the prompt is part of it.
		whole := *c
		whole.Content = acp.TextBlock(f.echo[:f.heard] + text)
		f.echo, f.heard = "", 0
		f.chunk(userChunk, &whole)
		return
	}
	f.chunk(userChunk, c)
}

// beginTurn begins a turn, which the user's prompt is part of.
func (f *folder) beginTurn(prompt []acp.ContentBlock) {
	f.inTurn, f.messages = true, nil
	f.breakMessage()
	f.says(prompt)
}

// says shows what the user says. If that is passed to the turn, the agent's message continues after
// it.
func (f *folder) says(what []acp.ContentBlock) {
	if len(what) == 0 {
		return
	}
	id := f.newMessage(userChunk, "", what)
	f.echo, f.heard = f.view.Get(id).Text(), 0
}

// endTurn ends a turn and returns the agent's messages. status is the status of an incomplete
// answer.
func (f *folder) endTurn(status view.Status) []string {
	all := f.messages
	if n := len(all); n > 0 && status != "" {
		f.ended(all[n-1], status)
	}
	f.inTurn, f.messages = false, nil
	f.breakMessage()
	return all
}

// breakMessage lets the next chunk begin a new message.
func (f *folder) breakMessage() {
	f.open, f.openKind, f.echo, f.heard = "", 0, "", 0
}

// call merges a tool call with what is known of it.
func (f *folder) call(u *acp.ToolCallUpdate) *view.Entity {
	patch := acpview.CallOf(u)
	e := view.Entity{ID: patch.ID, Kind: view.ToolCall}
	known := f.view.Get(e.ID)
	if known != nil {
		e = *known
	} else {
		f.breakMessage()
		e.Title = string(u.ToolCallID)
	}
	e.Status = "" // what the agent says of it counts, whatever it was
	e.Merge(patch)
	if e.Status == "" && known != nil {
		e.Status = known.Status
	}
	if known != nil {
		f.keep(known, &e)
	}
	f.replace(known, &e)
	return &e
}

func (f *folder) compaction(u *acp.CompactionUpdate) {
	e := view.Entity{ID: "compaction:" + string(u.CompactionID), Kind: view.Compaction}
	known := f.view.Get(e.ID)
	if known != nil {
		e = *known
	}
	e.Status = view.Status(u.Status)
	if u.Summary != nil {
		e.Content = acpview.Contents(u.Summary)
	}
	if !u.Error.IsZero() {
		e.Title, _ = u.Error.Get()
	}
	f.replace(known, &e)
}

func (f *folder) summary(c *acp.CompactionSummaryChunk) {
	id := "compaction:" + string(c.CompactionID)
	if f.view.Get(id) == nil {
		f.replace(nil, &view.Entity{ID: id, Kind: view.Compaction, Status: view.Running})
	}
	f.add(id, &c.Content)
}

func (f *folder) info(u *acp.SessionInfoUpdate) {
	if all, ok := acpview.WaitingOf(u); ok {
		f.wait(all)
	}
	if u.Title.IsZero() && u.UpdatedAt.IsZero() {
		return
	}
	e := view.Entity{ID: SessionID, Kind: view.Session}
	if known := f.view.Get(SessionID); known != nil {
		e = *known
	}
	if !u.Title.IsZero() {
		e.Title, _ = u.Title.Get()
	}
	if !u.UpdatedAt.IsZero() {
		text, _ := u.UpdatedAt.Get()
		e.Updated, _ = time.Parse(time.RFC3339, text) // the zero time if it is none
	}
	f.put(&e)
}

// wait takes over which prompts wait.
func (f *folder) wait(all []*view.Entity) {
	before := f.waiting
	f.waiting = nil
	for _, e := range all {
		f.waiting = append(f.waiting, e.ID)
		f.put(e)
	}
	for _, id := range before {
		if !slices.Contains(f.waiting, id) {
			_ = f.view.Apply(view.Change{Op: view.Remove, ID: id})
		}
	}
}

// setMode sets the current mode. It changes nothing else.
func (f *folder) setMode(mode acp.SessionModeID) {
	m := values{ID: modeOption, Title: "Mode", Category: string(acp.SessionConfigOptionCategoryMode)}
	if f.modes != nil {
		m = *f.modes
	}
	m.Value = string(mode)
	f.modes = &m
	f.showOptions()
}

// setOptions takes over what is given.
func (f *folder) setOptions(modes *acp.SessionModeState, options []acp.SessionConfigOption) {
	if modes != nil {
		f.modes = modesOf(modes)
	}
	if options != nil {
		f.list = optionsOf(options)
	}
	if modes != nil || options != nil {
		f.showOptions()
	}
}

func (f *folder) showOptions() {
	f.put(&view.Entity{ID: OptionsID, Kind: view.Options, Settings: f.settings()})
}

// settings are the options, and before them the mode, unless it is one of them.
func (f *folder) settings() []view.Setting {
	if f.modes == nil || f.option(modeOption) != nil {
		return f.list
	}
	return append([]view.Setting{view.Setting(*f.modes)}, f.list...)
}

func (f *folder) option(id string) *values {
	for i := range f.list {
		if f.list[i].ID == id {
			v := values(f.list[i])
			return &v
		}
	}
	return nil
}
