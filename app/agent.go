// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpmcp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app/config"
	"github.com/ponte-go/ponte/app/internal/keys"
	"github.com/ponte-go/ponte/app/internal/stores"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

const task = `You are a coding agent in the user's editor. Work on the files of the working directory with your tools.
Look before you change: read a file before you write it, and search rather than guess. Make the smallest change that does
what was asked, run the project's own tests where there are some, and say briefly what you did and what you found.
If the user refuses something, do not try the same in another way; ask what to do instead.`

// notKept begins the line of standard error that says why a session is not kept. The terminal shows it.
const notKept = "ideagent: this session is kept in memory and ends with the connection"

func agentCommand(ctx context.Context, args []string, kinds stores.Kinds) int {
	flags := flag.NewFlagSet("ideagent", flag.ContinueOnError)
	name := flags.String("model", "", "`model` that answers, as PROVIDER:NAME: openai:gpt-5-mini, ollama:qwen3:8b, openrouter:…, or offline. Keys and addresses\n"+
		"come from the environment: OPENAI_API_KEY, OPENAI_BASE_URL, OLLAMA_HOST, …\n"+
		"Default: the provider of a key, with OPENAI_MODEL for openai's, else a local Ollama, else offline")
	storeAt := flags.String("store", "", "`directory` to keep sessions in, or the address of a database, if the program has one (default: ideagent/sessions in\n"+
		"XDG_STATE_HOME, or else in ~/.local/state, ~/Library/Application Support on macOS, LocalAppData on Windows)")
	noStore := flags.Bool("no-store", false, "keep sessions in memory only, until the connection ends")
	bare := flags.Bool("bare", false, "offer only the tools for files, commands and MCP servers, without AGENTS.md and CLAUDE.md, skills, plan,\n"+
		"questions, notes, compaction of long conversations, pages of the web, and the agent that explores")
	configFile := flags.String("config", "", "configuration `file` (default: ideagent/config.json in your configuration directory, if it is there; see docs/configuration.md)")
	idle := flags.Duration("idle", 0, "after what time without a prompt a session gives its memory back (default 10m)")
	pace := flags.Duration("pace", 0, "how long the offline model waits between two pieces of text, for people to watch")
	if code, done := parseFlags(flags, args, usage); done {
		return code
	}
	if command := flags.Arg(0); (command == "login" || command == "logout") && flags.NArg() == 1 { // an editor has put it behind its own arguments
		provider, _, _ := strings.Cut(cmp.Or(*name, "openai"), ":")
		return keepKey(command, provider)
	}
	if flags.NArg() > 0 {
		shown := stores.Mask(flags.Arg(0))
		return misuse(fmt.Errorf("unknown argument %q; to ask for something, use: ideagent chat %q", shown, shown))
	}
	if *idle < 0 {
		return misuse(errors.New("-idle: use a positive duration, such as 10m"))
	}
	user, wrong := readConfig(*configFile)
	if wrong != nil {
		user = &config.User{}
	}
	choose := chooser{env: os.Getenv, stored: keys.Open(os.Getenv), pace: *pace, tell: func(c choice) {
		fmt.Fprintf(os.Stderr, "ideagent: model %s: %s\n", c.name, c.why)
	}}
	named := *name
	if named == "" && user.Model != "" {
		named, choose.says = user.Model, "the configuration"
	}
	o := options{user: user, idle: *idle, tell: func(err error) { fmt.Fprintf(os.Stderr, "ideagent: %s\n", show.Line(err.Error())) }}
	m, err := choose.choose(ctx, named)
	switch {
	case err != nil && *name != "":
		return misuse(err)
	case err != nil:
		wrong = user.Wrong("model", withoutFlag(err))
	default:
		if o.models, err = choose.models(ctx, m, named, user); err != nil {
			wrong = err
		}
	}
	if wrong != nil {
		m, o.user, o.models = choose.offline().Model, &config.User{}, nil
	}
	o.user.Bare = o.user.Bare || *bare
	if o.wrong = wrong; wrong != nil {
		for line := range strings.Lines(wrong.Error()) {
			fmt.Fprintf(os.Stderr, "ideagent: %s\n", show.Line(strings.TrimSpace(line)))
		}
		fmt.Fprintln(os.Stderr, "ideagent: no session begins until this is mended and ideagent is started again")
	}
	switch {
	case *noStore && *storeAt != "":
		return misuse(errors.New("-store and -no-store: use one of them"))
	case !*noStore:
		place, err := placeOf(*storeAt, kinds, os.Getenv)
		if err != nil && *storeAt != "" {
			return misuse(err)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "ideagent: %v\nideagent: continuing without a store: sessions end with the connection\n", err)
			break
		}
		store := newStore(place, localDir(place, os.Getenv), func(err error) {
			fmt.Fprintf(os.Stderr, "%s: %s\n", notKept, show.Line(strings.Join(strings.Fields(err.Error()), " ")))
		})
		defer store.Close()
		o.store = store
	}
	if err := serve(ctx, m, o); err != nil {
		fmt.Fprintf(os.Stderr, "ideagent: %v\n", err)
		return exitError
	}
	return exitOK
}

// serve brings an agent into every IDE that speaks ACP: it makes the tools, the agent and the
// bridge.
func serve(ctx context.Context, m model.Model, o options) error {
	code, err := lsptoolset.New(lsptoolset.Config{
		Servers: o.user.LanguageServers, Run: local.Config{PassEnv: o.user.Env, Sandbox: sandboxOf(o.user)},
		Logger: warnings(), Client: lsptoolset.ClientInfo{Name: "ideagent", Version: release()},
	})
	if err != nil {
		return err
	}
	defer code.Close()
	if len(code.Installed()) > 0 {
		o.code = code
	}
	config, err := configure(m, o)
	if err != nil {
		return err
	}
	return acpbridge.Serve(ctx, config)
}

// options configures how the agent is served.
type options struct {
	store  sessions.Store // nil keeps sessions in memory
	user   *config.User
	wrong  error        // with the configuration: no session begins
	models []host.Model // that users can choose from
	code   *lsptoolset.Servers
	idle   time.Duration
	tell   func(error)
}

// say tells the user something that is wrong and does not stop the agent.
func (o *options) say(err error) {
	if o.tell != nil {
		o.tell(err)
	}
}

// session is the state that the tools of a session share: its files and commands, and the changes
// made to the files.
type session struct {
	deps.ACPDeps
	changes *checkpoint.Recorder
	turns   *checkpoint.Turns
	files   workspace.Workspace // below changes
	layers  []approval.Layer    // that decide before the user is asked
}

// configure returns the agent and how it is served.
func configure(m model.Model, o options) (c acpbridge.Config[session, string], err error) {
	if o.user == nil {
		o.user = &config.User{}
	}
	servers := acpmcp.New(acpmcp.Config{Servers: o.user.MCPServers})
	var more []agent.Capability[session]
	if !o.user.Bare {
		if more, err = capabilities(m, o.store, o.code); err != nil {
			return c, err
		}
	}
	a, err := agent.New(agent.Config[session, string]{
		Name:         "ideagent",
		Model:        m,
		Instructions: strings.TrimSpace(task + "\n\n" + o.user.Instructions),
		Capabilities: more,
		Toolsets: []toolset.Toolset[session]{
			acpbridge.Toolset[session](), // the user's files and terminals, through the IDE
			checkpoint.Tools(func(s session) *checkpoint.Recorder { return s.changes }),
			acpmcp.Toolset(servers, mcptoolset.Options[session]{}), // the IDE's MCP servers, and the user's
		},
	})
	if err != nil {
		return c, err
	}
	title := "Ponte IDE agent"
	rules, kept := &rules{user: o.user}, &undo{tell: o.say}
	if lasting, ok := o.store.(*lazyStore); ok {
		kept.dir = lasting.undoDir
	}
	commands := host.BuiltIns(modelwrap.ListPrices())
	c = acpbridge.Config[session, string]{
		Host: host.Config[session, string]{
			Agent:           a,
			Store:           o.store,
			Idle:            o.idle,
			Modes:           modesFrom(o.user.Mode),
			Models:          o.models,
			Commands:        append(commands, userPrompts(o.user, commands, o.say)...),
			SessionCommands: func(s *host.Session) []host.Command { return projectPrompts(acpbridge.SessionOf(s)) },
			Prices:          modelwrap.ListPrices(),
			Layers:          func(s session) []approval.Layer { return s.layers },
			Files:           func(s session) host.Files { return s.turns },
			Logger:          warnings(),
		},
		Local: fallback(o.user),
		Deps: func(_ context.Context, d deps.ACPDeps) (session, error) {
			if o.wrong != nil {
				return session{}, fmt.Errorf("mend the configuration and start ideagent again: %w", o.wrong)
			}
			layers, err := rules.of(d.Session)
			if err != nil {
				return session{}, err
			}
			reads, err := rules.reads(d.Session)
			if err != nil {
				return session{}, err
			}
			files := d.Workspace.Workspace()
			changes := kept.open(d.Session, files)
			d.Workspace = workspace.NewSession(changes) // the tools work through the recorder
			d.Workspace.GuardReads(reads)
			changes.GuardReads(reads)
			return session{d, changes, checkpoint.NewTurns(changes), files, layers}, nil
		},
		Options: acpbridge.Options{
			MCP:      servers,
			Unstable: true, // forks, archived sessions and more, for editors that know them
			Info:     acp.Implementation{Name: "ideagent", Title: &title, Version: release()},
		},
	}
	if o.wrong == nil {
		c.Auth, _ = m.(acpbridge.Auth) // a model that needs a key
	}
	return c, nil
}

// warnings logs what somebody should know.
func warnings() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// modesFrom returns the modes, and first the one in which sessions begin.
func modesFrom(first string) []host.Mode {
	all := host.Modes()
	if i := slices.IndexFunc(all, func(m host.Mode) bool { return m.ID == first }); i > 0 {
		all[0], all[i] = all[i], all[0]
	}
	return all
}
