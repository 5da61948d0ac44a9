// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/stores"
	"github.com/ponte-go/ponte/internal/show"
)

const sessionsUsage = `Look at the sessions that ideagent keeps, move and remove them.

Usage:

	ideagent sessions list [-dir DIR] [-json]       list sessions, the one that was changed last first
	ideagent sessions show [-json] ID               show what was said and which tools were called
	ideagent sessions export [-dir DIR] [ID...]     write sessions as JSON lines, with everything that is in them
	ideagent sessions import FILE                   read what export has written, from standard input if FILE is -
	ideagent sessions salvage ID                    make a new session of what a damaged one has before the damage
	ideagent sessions purge ID... | -dir DIR | -older AGE | -all
	                                                remove sessions for good

Flags come before ids. Sessions that a program has open are not removed. With -json, list writes a JSON object a line, and show writes one.

Exit codes: 0 done, 1 error, 2 mistake in the command line.

Flags:

`

// sessionsFlags are the flags of "ideagent sessions".
type sessionsFlags struct {
	dir   string
	json  bool
	all   bool
	older time.Duration
	ids   []string
	at    string // the directory of what this machine keeps beside the sessions
}

// sessionsCommand is "ideagent sessions".
func sessionsCommand(ctx context.Context, args []string, kinds stores.Kinds) int {
	verb := ""
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		verb, args = args[0], args[1:]
	}
	verbs := map[string]func(context.Context, stores.Store, io.Writer, *sessionsFlags) error{
		"list": listSessions, "show": showSession, "export": exportSessions, "import": importSessions, "salvage": salvageSession, "purge": purgeSessions,
	}
	do, ok := verbs[verb]
	if verb != "" && !ok {
		return misuse(fmt.Errorf("sessions: unknown command %q%s", show.Line(stores.Mask(verb)), didYouMean(verb, "list", "show", "export", "import", "salvage", "purge")))
	}
	var f sessionsFlags
	flags := flag.NewFlagSet("sessions", flag.ContinueOnError)
	at := flags.String("store", "", "`directory` of the sessions or address of a database, as for ideagent")
	if verb != "show" && verb != "salvage" && verb != "import" {
		flags.StringVar(&f.dir, "dir", "", "only sessions that work in this `directory`")
	}
	if verb == "" || verb == "list" || verb == "show" {
		flags.BoolVar(&f.json, "json", false, "write JSON")
	}
	if verb == "" || verb == "purge" {
		flags.BoolVar(&f.all, "all", false, "purge: all sessions")
		flags.DurationVar(&f.older, "older", 0, "purge: sessions that were not changed for an `age`, such as 720h")
	}
	if code, done := parseFlags(flags, args, sessionsUsage); done {
		return code
	}
	f.ids = flags.Args()
	if err := f.check(verb); err != nil {
		return misuse(fmt.Errorf("sessions: %w", err))
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	place, err := placeOf(*at, kinds, os.Getenv)
	if err != nil {
		return misuse(fmt.Errorf("sessions: %w", err))
	}
	if err := f.run(ctx, place, verb == "import", do); err != nil {
		fmt.Fprintf(os.Stderr, "ideagent: %s\n", show.Text(err.Error()))
		return exitError
	}
	return exitOK
}

// check returns what is wrong with the command line.
func (f *sessionsFlags) check(verb string) error {
	some := f.dir != "" || f.older != 0 || f.all
	switch {
	case slices.ContainsFunc(f.ids, func(id string) bool { return strings.Contains(id, "://") }):
		return fmt.Errorf("%s: this is not the id of a session; the address of a database belongs after -store", verb)
	case verb == "":
		return errors.New("say what to do: list, show, export, import, salvage or purge")
	case verb == "list" && len(f.ids) > 0:
		return fmt.Errorf("list: unknown argument %q", stores.Mask(f.ids[0]))
	case verb == "import" && len(f.ids) != 1:
		return errors.New("import: give one file, after the flags, or - for standard input")
	case (verb == "show" || verb == "salvage") && len(f.ids) != 1:
		return fmt.Errorf("%s: give the id of one session, after the flags", verb)
	case len(f.ids) > 0 && some:
		return fmt.Errorf("%s: give ids, or flags that select sessions", verb)
	case verb == "purge" && len(f.ids) == 0 && !some:
		return errors.New("purge: say which sessions: ids, -dir, -older or -all")
	case f.all && (f.dir != "" || f.older != 0):
		return errors.New("purge: leave out -all, or -dir and -older")
	case f.older < 0:
		return errors.New("purge: -older must be positive")
	}
	return nil
}

// run opens the store, and does what was asked. The directory of a store is made only if create is set.
func (f *sessionsFlags) run(ctx context.Context, place stores.Place, create bool, do func(context.Context, stores.Store, io.Writer, *sessionsFlags) error) (err error) {
	f.at = localDir(place, os.Getenv)
	if f.dir != "" {
		if f.dir, err = filepath.Abs(f.dir); err != nil {
			return err
		}
	}
	if dir := place.Dir(); dir != "" && !create {
		if _, err := os.Stat(filepath.Join(dir, "sessions.db")); errors.Is(err, fs.ErrNotExist) {
			if len(f.ids) > 0 {
				return fmt.Errorf("%s: %w: there are no sessions in %s", f.ids[0], sessions.ErrNotFound, dir)
			}
			fmt.Fprintf(os.Stderr, "ideagent: there are no sessions in %s\n", show.Line(dir))
			return nil
		}
	}
	store, err := openWithin(ctx, place)
	if errors.Is(err, sessions.ErrBusy) {
		return fmt.Errorf("%w: try again when the agents that use it are idle", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return do(ctx, store, stdout, f)
}

// compact has a store give back the room of what was removed, if it has to be told.
func compact(ctx context.Context, store sessions.Store) error {
	if c, ok := store.(sessions.Compacter); ok {
		return c.Compact(ctx)
	}
	return nil
}

// each calls do with the sessions that a query selects.
func each(ctx context.Context, store sessions.Store, dir string, do func(*sessions.Info) error) error {
	q := sessions.Query{Dir: dir, Conversations: true, Limit: sessions.MaxLimit}
	for {
		page, err := store.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Sessions {
			if err := do(&page.Sessions[i]); err != nil {
				return err
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return nil
		}
	}
}

func listSessions(ctx context.Context, store stores.Store, out io.Writer, f *sessionsFlags) error {
	lines := json.NewEncoder(out)
	return each(ctx, store, f.dir, func(i *sessions.Info) error {
		if f.json {
			return lines.Encode(i)
		}
		held := ""
		if i.Holder != "" {
			held = "  in use by " + show.Line(i.Holder)
		}
		_, err := fmt.Fprintf(out, "%s  %s  %s  %s%s\n", show.Line(i.ID), i.Updated.Local().Format("2006-01-02 15:04"), show.Line(i.Dir), show.Line(i.Title), held)
		return err
	})
}

// shownSession is the output of "sessions show -json".
type shownSession struct {
	Session  sessions.Info  `json:"session"`
	Entities []*view.Entity `json:"entities"`
}

func showSession(ctx context.Context, store stores.Store, out io.Writer, f *sessionsFlags) error {
	info, err := store.Get(ctx, f.ids[0])
	if err != nil {
		return err
	}
	t, damaged := transcript.Read(ctx, store, info.ID, transcript.Options{}) // what is before the damage
	if damaged != nil && !errors.Is(damaged, sessions.ErrCorrupt) {
		return damaged
	}
	snapshot := t.Fold().Snapshot()
	if f.json {
		shown := shownSession{Session: info, Entities: []*view.Entity{}}
		for e := range snapshot.All() {
			shown.Entities = append(shown.Entities, e)
		}
		return errors.Join(json.NewEncoder(out).Encode(shown), damaged)
	}
	_, err = fmt.Fprintf(out, "# %s\n\n%s, in %s\n\n%s", show.Line(info.Title), info.Updated.Local().Format("2006-01-02 15:04"), show.Line(info.Dir),
		show.Text(host.Markdown(snapshot)))
	return errors.Join(err, damaged)
}

func salvageSession(ctx context.Context, store stores.Store, out io.Writer, f *sessionsFlags) error {
	made, err := host.Salvage(ctx, store, f.ids[0], sessions.New{})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s has the conversation up to the damage. The damaged session is kept.\n", show.Line(made.ID))
	return err
}

func exportSessions(ctx context.Context, store stores.Store, out io.Writer, f *sessionsFlags) error {
	ids := f.ids
	for _, id := range ids { // nothing is written if one is unknown
		if _, err := store.Get(ctx, id); err != nil {
			return err
		}
	}
	if f.dir != "" {
		if err := each(ctx, store, f.dir, func(i *sessions.Info) error { ids = append(ids, i.ID); return nil }); err != nil {
			return err
		}
		if len(ids) == 0 {
			return nil // without ids all sessions would be written
		}
	}
	return sessions.Export(ctx, store, out, ids...)
}

func importSessions(ctx context.Context, store stores.Store, out io.Writer, f *sessionsFlags) (err error) {
	in := os.Stdin
	if name := f.ids[0]; name != "-" {
		if in, err = os.Open(name); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, in.Close()) }()
	}
	done, err := sessions.Import(ctx, store, in, sessions.ImportOptions{})
	fmt.Fprintf(out, "Imported: %d\n", len(done.Sessions))
	if errors.Is(err, sessions.ErrExists) {
		err = fmt.Errorf("%w there already: remove it with \"ideagent sessions purge\", or export the others by their ids", err)
	}
	return err
}

func purgeSessions(ctx context.Context, store stores.Store, out io.Writer, f *sessionsFlags) error {
	var done sessions.Pruned
	var errs []error
	switch {
	case len(f.ids) > 0:
		for _, id := range f.ids {
			info, err := store.Get(ctx, id)
			if err == nil {
				err = store.Delete(ctx, id)
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
			done.Removed = append(done.Removed, info)
		}
		if len(done.Removed) > 0 {
			errs = append(errs, compact(ctx, store))
		}
	case f.older > 0:
		pruned, err := sessions.Prune(ctx, store, sessions.Retention{MaxAge: f.older, Dir: f.dir})
		if done = pruned; err == nil {
			err = compact(ctx, store)
		}
		errs = append(errs, err)
	default:
		pruned, err := sessions.Purge(ctx, store, sessions.Query{Dir: f.dir, Conversations: true})
		done, errs = pruned, append(errs, err)
	}
	errs = append(errs, forgetUndo(f.at, done.Removed...))
	done.Removed = slices.DeleteFunc(done.Removed, func(i sessions.Info) bool { return sessions.Internal(&i) }) // nobody knows of these
	fmt.Fprintf(out, "Removed: %d\n", len(done.Removed))
	if done.Held > 0 {
		errs = append(errs, fmt.Errorf("%d left: %w: close them there first", done.Held, sessions.ErrHeld))
	}
	return errors.Join(errs...)
}
