// SPDX-License-Identifier: Apache-2.0

package view

import (
	"encoding/json"
	"strings"
	"time"
)

// Kind is the kind of an [Entity].
type Kind string

// The kinds of entities, and the fields of Entity that each uses besides ID, Parent, Kind and Meta.
const (
	Message    Kind = "message"    // Role, Status (how the answer of a turn ended that is not whole), Content
	Thought    Kind = "thought"    // Content
	ToolCall   Kind = "tool_call"  // Title, Name, Class, Status, Content, Locations, Input, Output
	Command    Kind = "command"    // a command that runs or ran: Title, Dir, Status, Content (its output), Exit
	Plan       Kind = "plan"       // Steps
	SubAgent   Kind = "agent"      // an agent inside the agent: Title, Name, Status
	Question   Kind = "question"   // Title, Status, Choices, Value (the choice that was made), Digest
	Usage      Kind = "usage"      // Usage
	Notice     Kind = "notice"     // Title, Class (info, warning, error), Content
	Options    Kind = "options"    // Settings
	Commands   Kind = "commands"   // slash commands: Slash
	Session    Kind = "session"    // Title, Updated
	Waiting    Kind = "waiting"    // a prompt that waits for its turn: Role, Content, Digest (its version)
	Compaction Kind = "compaction" // a summary that replaced a part of the history: Status, Content, Title (what went wrong)
)

// Role is who a message is from.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Status is how far a tool call, a command or a question is, or how a message ended. Unknown values are kept unchanged.
type Status string

// The usual statuses.
const (
	Pending   Status = "pending"
	Running   Status = "in_progress"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// The statuses of a message with an answer that is not whole. [Failed] is one of them, too.
const (
	Stopped     Status = "stopped"     // by the user
	CutOff      Status = "cut_off"     // by a limit or a filter of the model
	Interrupted Status = "interrupted" // by the end of the process
)

// Ended reports whether nothing more is expected.
func (s Status) Ended() bool {
	switch s {
	case Completed, Failed, Cancelled, Stopped, CutOff, Interrupted:
		return true
	}
	return false
}

// Ending tells people why the answer of a message with the status is not whole, and how to continue. It is empty for
// other statuses.
func (s Status) Ending() string {
	switch s {
	case Stopped:
		return "Stopped. Send a message to continue."
	case CutOff:
		return "Cut off: the answer is not complete. Send a message to continue."
	case Failed:
		return "Failed: the answer is not complete. Send a message to continue."
	case Interrupted:
		return "Interrupted: the program ended before the answer was complete. Send a message to continue."
	}
	return ""
}

// Entity is a thing that a conversation shows. Its Kind determines which fields are used. Entities
// that were handed to a [Fold], or come from one, must not be changed.
type Entity struct {
	// ID identifies the entity in its conversation.
	ID string `json:"id"`
	// Parent is the entity that this one belongs to, such as the tool call that a question is about. It is empty for most.
	Parent string `json:"parent,omitempty"`
	Kind   Kind   `json:"kind"`
	Role   Role   `json:"role,omitempty"`

	// Title is for people, in one line. Name is a tool's or an agent's name. Class says of a tool call what it does (read, edit, delete,
	// move, search, execute, think, fetch, switch_mode, other), and of a notice how grave it is (info, warning, error).
	Title string `json:"title,omitempty"`
	Name  string `json:"name,omitempty"`
	Class string `json:"class,omitempty"`

	// Status is its progress. Content is shown in order.
	Status  Status    `json:"status,omitempty"`
	Content []Content `json:"content,omitempty"`

	// Locations are the places in files that a tool call is about. Input and Output are what it was called with and what came back.
	Locations []Location      `json:"locations,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	Output    json.RawMessage `json:"output,omitempty"`

	// Dir is the directory that a command runs in, Exit is how it ended.
	Dir  string `json:"dir,omitempty"`
	Exit *Exit  `json:"exit,omitempty"`

	// Steps are the steps of a plan.
	Steps []Step `json:"steps,omitempty"`
	// Choices are the answers that a question offers, Value is the id of the one that was chosen.
	Choices []Choice `json:"choices,omitempty"`
	Value   string   `json:"value,omitempty"`
	// Digest identifies what a question shows. An answer must name it, and is valid for nothing
	// else.
	Digest string `json:"digest,omitempty"`
	// Usage, Settings and Slash belong to entities of the kinds usage, options and commands.
	// Updated is when a session was changed last.
	Usage    *Tokens        `json:"usage,omitempty"`
	Settings []Setting      `json:"settings,omitempty"`
	Slash    []SlashCommand `json:"slash,omitempty"`
	Updated  time.Time      `json:"updated,omitzero"`

	// Meta holds metadata of the protocol, unchanged.
	Meta json.RawMessage `json:"meta,omitempty"`
}

// Text returns the text of the content, joined.
func (e *Entity) Text() string {
	if len(e.Content) == 1 && e.Content[0].Kind == Text {
		return e.Content[0].Text
	}
	var all strings.Builder
	for i := range e.Content {
		if e.Content[i].Kind == Text {
			all.WriteString(e.Content[i].Text)
		}
	}
	return all.String()
}

// ContentKind is the kind of a [Content].
type ContentKind string

// The kinds of content, and the fields that each uses.
const (
	Text     ContentKind = "text"     // Text
	Image    ContentKind = "image"    // MIMEType, Data or URI
	Audio    ContentKind = "audio"    // MIMEType, Data
	Link     ContentKind = "link"     // URI, Name, MIMEType, Cites
	Resource ContentKind = "resource" // URI, MIMEType, Text or Data
	Diff     ContentKind = "diff"     // Diff
	Output   ContentKind = "command"  // Ref: the entity of the command whose output is shown here
	Other    ContentKind = "other"    // Raw
)

// AllowedBy begins the text of a tool call that says who allowed it without asking a person.
const AllowedBy = "Allowed by: "

// Content is a piece of what an entity shows.
type Content struct {
	// Kind determines which fields are used. Data is in base64. Ref is the id of the entity that is
	// shown here.
	Kind     ContentKind `json:"kind"`
	Text     string      `json:"text,omitempty"`
	MIMEType string      `json:"mime_type,omitempty"`
	Data     string      `json:"data,omitempty"`
	URI      string      `json:"uri,omitempty"`
	Name     string      `json:"name,omitempty"`
	Ref      string      `json:"ref,omitempty"`
	Diff     *FileChange `json:"diff,omitempty"`
	// Cites are the places that a link is the source of, in what Text returns of the entity. Spans
	// from other agents may be out of range.
	Cites []Span `json:"cites,omitempty"`
	// Raw is content of a kind that this package does not know, as it came.
	Raw json.RawMessage `json:"raw,omitempty"`
}

// Span is a place in a text, in bytes: text[Start:End].
type Span struct {
	// Start is where it begins, End where it ends.
	Start int `json:"start"`
	End   int `json:"end"`
}

// FileChange is a change of a file. Old is nil if the file is new. The texts may be the whole file or the part that changes.
type FileChange struct {
	// Path names the file. Old is the text before the change, New the text after it.
	Path string  `json:"path"`
	Old  *string `json:"old,omitempty"`
	New  string  `json:"new"`
}

// Location is a place in a file. Line is counted from 1; 0 means the whole file.
type Location struct {
	// Path names the file.
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

// Exit is how a command ended. Code is -1 if a signal ended it.
type Exit struct {
	// Code is the exit code, Signal the name of the signal that ended the command.
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"`
}

// Step is a step of a plan.
type Step struct {
	// Text describes the step. Priority is high, medium or low.
	Text     string `json:"text"`
	Status   Status `json:"status,omitempty"`
	Priority string `json:"priority,omitempty"`
}

// Choice is an answer that a question offers, or a value that a setting can have. Class is the kind
// of answer, such as allow_once.
type Choice struct {
	// ID identifies the choice. Title and Description are for people. Group names the group that it is listed in.
	ID          string `json:"id"`
	Title       string `json:"title,omitempty"`
	Class       string `json:"class,omitempty"`
	Group       string `json:"group,omitempty"`
	Description string `json:"description,omitempty"`
}

// Tokens are the tokens in the context, the size of the context window, and the cost of the conversation so far. A zero Size, and an
// empty Currency, mean that it is not known.
type Tokens struct {
	// Used and Size are in tokens, Cost is in the currency of Currency, an ISO 4217 code.
	Used     uint64  `json:"used"`
	Size     uint64  `json:"size,omitempty"`
	Cost     float64 `json:"cost,omitempty"`
	Currency string  `json:"currency,omitempty"`
}

// Setting is something that a person can set for a conversation, such as the mode or the model. A switch has no Choices, and the value
// "true" or "false".
type Setting struct {
	// ID identifies the setting. Category is mode, model, model_config, thought_level, or any other
	// name.
	ID          string   `json:"id"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Category    string   `json:"category,omitempty"`
	Value       string   `json:"value"`
	Switch      bool     `json:"switch,omitempty"`
	Choices     []Choice `json:"choices,omitempty"`
}

// SlashCommand is a command that a person can type. Hint describes the arguments; it is empty if
// the command takes none.
type SlashCommand struct {
	// Name is without the slash.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Hint        string `json:"hint,omitempty"`
	// AtOnce is set if the command can be carried out while a turn runs.
	AtOnce bool `json:"at_once,omitempty"`
}
