// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/linked"
	"github.com/ponte-go/ponte/app/internal/stores"
	"github.com/ponte-go/ponte/internal/show"
)

// sessionsFlags are the flags and arguments of a command about sessions.
type sessionsFlags struct {
	e     *Env
	dir   string
	json  bool
	all   bool
	older time.Duration
	ids   []string
	at    string // the directory of what this machine keeps beside the sessions
	ring  *sessions.Keyring

	as, out, pkg, setup string // of export
}

// sessionsCommand is "sessions", with its commands.
func (e *Env) sessionsCommand() *cobra.Command {
	all := &cobra.Command{
		Use: "sessions", Short: "List, show, export, import or remove the sessions that are kept", GroupID: groupOther,
		Long: "Shows the sessions that " + e.Name + " keeps, moves and removes them. Sessions that a program has open are not removed.",
		RunE: func(*cobra.Command, []string) error {
			what := "list, show, export, import, salvage or purge"
			if linked.Encryption != nil {
				what = "list, show, export, import, salvage, purge or key"
			}
			return Usage("sessions: say what to do: %s", what)
		},
	}
	for _, v := range []struct {
		use, short string
		do         func(context.Context, sessions.Store, io.Writer, *sessionsFlags) error
		flags      string // d: -dir, j: -json, p: purge, x: export
	}{
		{"list", "List sessions, the one that was changed last first", listSessions, "dj"},
		{"show ID", "Show what was said and which tools were called", showSession, "j"},
		{"export [ID...]", "Write sessions as JSON lines, with everything that is in them", exportSessions, "dx"},
		{"import FILE", "Read what export has written, from standard input if FILE is -", importSessions, ""},
		{"salvage ID", "Make a new session of what a damaged one has before the damage", salvageSession, ""},
		{"purge [ID...]", "Remove sessions for good: those of ids, or of flags", purgeSessions, "dp"},
	} {
		f := &sessionsFlags{e: e}
		c := &cobra.Command{Use: v.use, Short: v.short}
		if strings.Contains(v.flags, "d") {
			c.Flags().StringVar(&f.dir, "dir", "", "only sessions that work in this `directory`")
		}
		if strings.Contains(v.flags, "j") {
			c.Flags().BoolVar(&f.json, "json", false, "write JSON: list an object a line, show one object")
		}
		if strings.Contains(v.flags, "p") {
			c.Flags().BoolVar(&f.all, "all", false, "all sessions")
			c.Flags().DurationVar(&f.older, "older", 0, "sessions that were not changed for an `age`, such as 720h")
		}
		if strings.Contains(v.flags, "x") && linked.Evals != nil {
			c.Flags().StringVar(
				&f.as, "as", "",
				"`test` writes a Go test that plays the session, case a case of a dataset",
			)
			forms := cobra.FixedCompletions([]string{"test", "case"}, cobra.ShellCompDirectiveNoFileComp)
			_ = c.RegisterFlagCompletionFunc("as", forms)
			c.Flags().StringVar(&f.out, "out", ".", "the `directory` of the test")
			c.Flags().StringVar(&f.pkg, "package", "main_test", "the `package` of the test")
			c.Flags().StringVar(&f.setup, "setup", "setup", "the `function` that returns the agent to the test")
		}
		verb := c.Name()
		switch verb {
		case "show", "export", "salvage", "purge":
			c.ValidArgsFunction = e.CompleteSessions
		case "list":
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
		c.RunE = func(cmd *cobra.Command, args []string) error {
			f.ids = args
			err := f.check(verb)
			if err == nil && f.dir != "" {
				f.dir, err = filepath.Abs(f.dir)
			}
			if err != nil {
				return Usage("sessions: %w", err)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			if e.openStore != nil {
				return f.own(ctx, v.do)
			}
			place, err := e.placeOf(*e.storeAt)
			if err != nil {
				return Usage("sessions: %w", err)
			}
			return f.run(ctx, place, verb == "import", v.do)
		}
		all.AddCommand(c)
	}
	if linked.Encryption != nil {
		all.AddCommand(e.keyCommand())
	}
	return all
}

// own does what was asked with the store that the program opens itself.
func (f *sessionsFlags) own(
	ctx context.Context, do func(context.Context, sessions.Store, io.Writer, *sessionsFlags) error,
) error {
	store, err := f.e.Store(ctx)
	if err != nil || store == nil {
		return cmp.Or(err, errors.New("sessions: the program keeps none"))
	}
	return do(ctx, store, f.e.Out, f)
}

// check returns what is wrong with the command line.
func (f *sessionsFlags) check(verb string) error {
	some := f.dir != "" || f.older != 0 || f.all
	switch {
	case slices.ContainsFunc(f.ids, func(id string) bool { return strings.Contains(id, "://") }):
		return fmt.Errorf("%s: this is not the id of a session; the address of a database belongs after -store", verb)
	case verb == "list" && len(f.ids) > 0:
		return fmt.Errorf("list: unknown argument %q", stores.Mask(f.ids[0]))
	case verb == "import" && len(f.ids) != 1:
		return errors.New("import: give one file, after the flags, or - for standard input")
	case (verb == "show" || verb == "salvage") && len(f.ids) != 1:
		return fmt.Errorf("%s: give the id of one session, after the flags", verb)
	case f.as != "" && f.as != "test" && f.as != "case":
		return fmt.Errorf("export: -as is %q, must be test or case", f.as)
	case f.as != "" && len(f.ids) != 1:
		return errors.New("export: with -as, give the id of one session")
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

// run opens the store, and does what was asked. The directory of a store is made only if create is
// set.
func (f *sessionsFlags) run(
	ctx context.Context, place stores.Place, create bool,
	do func(context.Context, sessions.Store, io.Writer, *sessionsFlags) error,
) (err error) {
	f.at = f.e.localDir(place)
	if dir := place.Dir(); dir != "" && !create {
		if _, err := os.Stat(filepath.Join(dir, "sessions.db")); errors.Is(err, fs.ErrNotExist) {
			if len(f.ids) > 0 {
				return fmt.Errorf("%s: %w: there are no sessions in %s", f.ids[0], sessions.ErrNotFound, dir)
			}
			f.e.Say("there are no sessions in %s", dir)
			return nil
		}
	}
	if f.ring, err = f.e.Keyring(ctx); err != nil {
		return err
	}
	store, done, err := f.e.openPlace(ctx, place)
	if errors.Is(err, sessions.ErrBusy) {
		return fmt.Errorf("%w: try again when the agents that use it are idle", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	return do(ctx, store, f.e.Out, f)
}

// compact has a store give back the room of what was removed, if it has to be told.
func compact(ctx context.Context, store sessions.Store) error {
	if c, ok := store.(sessions.Compacter); ok {
		return c.Compact(ctx)
	}
	return nil
}

// listSessions lists the sessions that were selected. Its error names those that are damaged.
func listSessions(ctx context.Context, store sessions.Store, out io.Writer, f *sessionsFlags) error {
	lines := json.NewEncoder(out)
	var damaged error
	list := func(i *sessions.Info) error {
		if f.json {
			return lines.Encode(i)
		}
		held := ""
		if i.Holder != "" {
			held = "  in use by " + show.Line(i.Holder)
		}
		if linked.Evals != nil {
			scores, err := linked.Evals.Scores(ctx, store, i.ID)
			if err != nil && !errors.Is(err, sessions.ErrCorrupt) {
				return err
			}
			damaged = errors.Join(damaged, err)
			if scores != "" {
				held += "  scores: " + show.Line(scores)
			}
		}
		_, err := fmt.Fprintf(
			out, "%s  %s  %s  %s%s\n", show.Line(i.ID),
			i.Updated.Local().Format("2006-01-02 15:04"), show.Line(i.Dir), show.Line(i.Title),
			held,
		)
		return err
	}
	q := sessions.Query{Dir: f.dir, Conversations: true, Limit: sessions.MaxLimit}
	for {
		page, err := store.List(ctx, q)
		if err != nil && (len(page.Sessions) == 0 || !errors.Is(err, sessions.ErrCorrupt)) {
			return err
		}
		damaged = errors.Join(damaged, err)
		for i := range page.Sessions {
			if err := list(&page.Sessions[i]); err != nil {
				return err
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return damaged
		}
	}
}

// shownSession is the output of "sessions show -json".
type shownSession struct {
	Session  sessions.Info  `json:"session"`
	Entities []*view.Entity `json:"entities"`
}

func showSession(ctx context.Context, store sessions.Store, out io.Writer, f *sessionsFlags) error {
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

func salvageSession(ctx context.Context, store sessions.Store, out io.Writer, f *sessionsFlags) error {
	made, err := host.Salvage(ctx, store, f.ids[0], sessions.New{})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(
		out, "%s has the conversation up to the damage. The damaged session is kept.\n",
		show.Line(made.ID),
	)
	return err
}

func exportSessions(ctx context.Context, store sessions.Store, out io.Writer, f *sessionsFlags) error {
	if f.as != "" {
		e := linked.Export{ID: f.ids[0], Case: f.as == "case", Dir: f.out, Package: f.pkg, Setup: f.setup}
		if f.at != "" {
			e.Beside, e.Keyring = besideDir(f.at, e.ID), f.ring
		}
		return linked.Evals.Export(ctx, store, out, e)
	}
	for _, id := range f.ids { // nothing is written if one is unknown
		if _, err := store.Get(ctx, id); err != nil && !errors.Is(err, sessions.ErrCorrupt) {
			return err
		}
	}
	if f.dir != "" {
		q := sessions.Query{Dir: f.dir, Conversations: true, Order: sessions.OrderCreated}
		return sessions.ExportQuery(ctx, store, out, q)
	}
	return sessions.Export(ctx, store, out, f.ids...)
}

func importSessions(ctx context.Context, store sessions.Store, out io.Writer, f *sessionsFlags) (err error) {
	in := f.e.In
	if name := f.ids[0]; name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	done, err := sessions.Import(ctx, store, in, sessions.ImportOptions{})
	fmt.Fprintf(out, "Imported: %d\n", len(done.Sessions))
	if errors.Is(err, sessions.ErrExists) {
		err = fmt.Errorf("%w there already: remove it with \"%s sessions purge\", or export the others by their ids", err, f.e.Name)
	}
	return err
}

func purgeSessions(ctx context.Context, store sessions.Store, out io.Writer, f *sessionsFlags) error {
	var done sessions.Pruned
	var errs []error
	switch {
	case len(f.ids) > 0:
		for _, id := range f.ids {
			info, err := store.Get(ctx, id)
			if err == nil || errors.Is(err, sessions.ErrCorrupt) { // what is damaged can be removed
				info.ID, err = id, store.Delete(ctx, id)
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
	errs = append(errs, forgetBeside(f.at, done.Removed...))
	done.Removed = slices.DeleteFunc(done.Removed, func(i sessions.Info) bool { return sessions.Internal(&i) }) // nobody knows of these
	fmt.Fprintf(out, "Removed: %d\n", len(done.Removed))
	if done.Held > 0 {
		errs = append(errs, fmt.Errorf(
			"%d left: %w: wait for the turns to end, or stop them", done.Held, sessions.ErrHeld,
		))
	}
	return errors.Join(errs...)
}
