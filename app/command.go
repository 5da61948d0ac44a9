// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/ponte-go/ponte/app/internal/linked"
	"github.com/ponte-go/ponte/app/internal/stores"
	"github.com/ponte-go/ponte/internal/nearest"
	"github.com/ponte-go/ponte/internal/show"
)

// Groups of commands in the help.
const (
	groupUse   = "use"
	groupOther = "other"
)

// chatCommand is the command that answers a question.
const chatCommand = "chat"

// command makes the command line.
func (e *Env) command() *cobra.Command {
	root := &cobra.Command{
		Use: e.Name + " [flags] [QUESTION]", Short: e.About, Long: cmp.Or(e.Help, e.About),
		SilenceErrors: true, SilenceUsage: true, Args: cobra.ArbitraryArgs,
	}
	root.PersistentPreRun = func(*cobra.Command, []string) {
		if *e.logTo != "" {
			e.log.file(*e.logTo)
		}
	}
	root.SetIn(e.In)
	root.SetOut(e.Out)
	root.SetErr(e.Err)
	root.AddGroup(&cobra.Group{ID: groupUse, Title: "Ways to use it:"}, &cobra.Group{
		ID: groupOther, Title: "Other commands:",
	})
	root.SetHelpCommandGroupID(groupOther)
	root.SetCompletionCommandGroupID(groupOther)
	root.CompletionOptions.DisableDescriptions = false
	flags := root.PersistentFlags()
	flags.SortFlags = false
	e.modelName = flags.String("model", "", "`model` that answers, as PROVIDER:NAME: openai:gpt-5-mini, ollama:qwen3:8b, …"+e.demoText())
	e.configFile = flags.String("config", "", "configuration `file` (default: "+e.Name+"/config.json in your configuration directory, if it is there)")
	e.storeAt = flags.String(
		"store", "",
		"`directory` to keep sessions in, or the address of a database, if the program has one",
	)
	e.encryptFlag(flags)
	e.noStore = flags.Bool("no-store", false, "keep sessions in memory only")
	e.runnerFlag(flags)
	e.logTo = flags.String("log", "", "`file` to append the log to (default: the standard error; for chat, "+e.Name+".log in the program's state directory)")
	e.idle = flags.Duration(
		"idle", 0, "after what time without a prompt a session gives its memory back (default 10m)",
	)
	e.pace = flags.Duration(
		"pace", 0,
		"how long the offline model waits between two pieces of text, for people to watch",
	)
	if e.demo == nil {
		_ = flags.MarkHidden("pace")
	}
	if e.flags != nil {
		e.flags(flags)
	}
	for _, s := range e.surfaces {
		c := s.Command(e)
		if c.GroupID == "" {
			c.GroupID = groupUse
		}
		root.AddCommand(c)
	}
	for _, make := range e.commands {
		c := make(e)
		if c.GroupID == "" {
			c.GroupID = groupOther
		}
		root.AddCommand(c)
	}
	if make := workerMaker(); make != nil {
		root.AddCommand(make(e))
	}
	if linked.Evals != nil {
		root.AddCommand(e.evalCommand())
	}
	root.AddCommand(e.sessionsCommand(), e.doctorCommand(), e.configCommand(), e.login("login"), e.login("logout"), &cobra.Command{
		Use: "version", Short: "Print the version", GroupID: groupOther, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(e.Out, e.Name, e.Version, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
			return err
		},
	})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	if first := find(root, e.first); first != nil {
		root.Flags().AddFlagSet(first.LocalNonPersistentFlags())
	}
	root.RunE = func(cmd *cobra.Command, args []string) error { return e.bare(root, args) }
	return root
}

// evalCommand is "eval", which parses its own command line.
func (e *Env) evalCommand() *cobra.Command {
	return &cobra.Command{
		Use: "eval", Short: "Show, compare or check reports of evals", GroupID: groupOther, DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if code := linked.Evals.Run(args, e.Out, e.Err); code != exitOK {
				return &ExitError{Code: code}
			}
			return nil
		},
	}
}

func (e *Env) demoText() string {
	if e.demo == nil {
		return ""
	}
	return " or offline"
}

// find returns the command of a name, nil if there is none.
func find(root *cobra.Command, name string) *cobra.Command {
	i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return name != "" && (c.Name() == name || c.HasAlias(name)) })
	if i < 0 {
		return nil
	}
	return root.Commands()[i]
}

// bare runs the program without a command: a question is answered by the terminal.
func (e *Env) bare(root *cobra.Command, args []string) error {
	first := find(root, e.first)
	if len(args) > 0 && (first == nil || first.Name() != chatCommand) {
		if first = find(root, chatCommand); first == nil {
			return Usage(
				"unknown command %q%s", show.Line(stores.Mask(args[0])),
				didYouMean(args[0], e.commandNames(root)...),
			)
		}
	}
	if first == nil && len(args) == 0 {
		if f, ok := e.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			first = find(root, chatCommand)
		}
	}
	if first == nil {
		return root.Help()
	}
	first.SetContext(root.Context())
	return first.RunE(first, args)
}

func (e *Env) commandNames(root *cobra.Command) (all []string) {
	for _, c := range root.Commands() {
		if !c.Hidden {
			all = append(all, c.Name())
		}
	}
	return all
}

// execute runs the command that the arguments name.
func (e *Env) execute(ctx context.Context, args []string) error {
	e.root = e.command()
	words, err := e.words(args)
	if err != nil {
		return err
	}
	if len(words) > 0 && strings.HasPrefix(words[0], "__complete") {
		e.completions(e.root)
		plainFlags(e.root)
		twoDashes(e.root, words)
	}
	e.root.SetArgs(words)
	err = e.root.ExecuteContext(ctx)
	if _, ok := err.(*pflag.NotExistError); ok || err != nil && isUsage(err) {
		return &ExitError{exitUsage, maskedError(err)}
	}
	return err
}

// plainFlags takes the quotes off the texts of flags, which name their values. The help uses them;
// completions show them.
func plainFlags(c *cobra.Command) {
	plain := func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") }
	c.Flags().VisitAll(plain)
	c.PersistentFlags().VisitAll(plain)
	for _, sub := range c.Commands() {
		plainFlags(sub)
	}
}

// isUsage reports whether an error of the library is about the command line.
func isUsage(err error) bool {
	switch err.(type) {
	case *pflag.ValueRequiredError, *pflag.InvalidValueError, *pflag.InvalidSyntaxError:
		return true
	}
	for _, begin := range []string{"unknown command", "accepts ", "requires at "} {
		if strings.HasPrefix(err.Error(), begin) {
			return true
		}
	}
	return false
}

// maskedError returns an error without what could be the address of a database, which may have a
// password.
func maskedError(err error) error {
	if before, _, ok := strings.Cut(err.Error(), "://"); ok {
		return fmt.Errorf("%s://…", before)
	}
	return err
}

// words finds the command of the arguments, and makes two dashes of one before the names of its
// flags. It explains unknown flags and commands.
func (e *Env) words(args []string) ([]string, error) {
	if len(args) > 0 && strings.HasPrefix(args[0], "__complete") {
		return args, nil
	}
	at, words := e.root, []string{}
	for len(args) > 0 {
		next := find(at, args[0])
		if next == nil {
			break
		}
		at, words, args = next, append(words, args[0]), args[1:]
	}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") && at.HasSubCommands() && (len(args) == 1 || at != e.root) {
		meant := didYouMean(args[0], e.commandNames(at)...)
		if at != e.root || !strings.Contains(args[0], " ") && (meant != "" || stores.Mask(args[0]) != args[0]) {
			prefix := ""
			if at != e.root {
				prefix = at.Name() + ": "
			}
			return nil, Usage("%sunknown command %q%s", prefix, show.Line(stores.Mask(args[0])), meant)
		}
	}
	if at.DisableFlagParsing {
		return append(words, args...), nil // it reads its flags itself
	}
	of, isCommand := flagsOf(at), true
	for i := 0; i < len(args); i++ {
		word := args[i]
		name, value, has := strings.Cut(strings.TrimLeft(word, "-"), "=")
		switch {
		case word == "--":
			return append(words, args[i:]...), nil
		case !strings.HasPrefix(word, "-") || word == "-":
			words = append(words, word)
			next := find(at, word)
			isCommand = isCommand && next != nil
			raw := !isCommand && at.Annotations[annotationRest] != ""
			switch {
			case isCommand && next.DisableFlagParsing:
				return nil, Usage("%s takes no flags before it: leave out %s", word, words[0][1:])
			case isCommand: // after flags that all commands have
				at, of = next, flagsOf(next)
			case raw:
				return append(words, args[i+1:]...), nil
			}
			continue
		}
		f := of.Lookup(name)
		if f == nil && len(name) == 1 {
			f = of.ShorthandLookup(name)
		}
		if f == nil {
			var known []string
			of.VisitAll(func(f *pflag.Flag) { known = append(known, "-"+f.Name) })
			return nil, Usage("unknown flag %s%s", stores.Mask("-"+name), didYouMean("-"+name, known...))
		}
		word = "--" + f.Name
		if has {
			word += "=" + value
		}
		words = append(words, word)
		if !has && f.NoOptDefVal == "" && i+1 < len(args) {
			i++
			words = append(words, args[i])
		}
	}
	return words, nil
}

// flagsOf returns all flags of a command.
func flagsOf(c *cobra.Command) *pflag.FlagSet {
	c.InitDefaultHelpFlag()
	of := c.Flags()
	of.AddFlagSet(c.InheritedFlags())
	return of
}

// annotationRest marks commands whose arguments after the first one are not flags of theirs.
const annotationRest = "rest"

// PassRest marks a command whose arguments after the first one belong to another program: they are
// passed on as they are.
func PassRest(c *cobra.Command) *cobra.Command {
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[annotationRest] = "true"
	c.Flags().SetInterspersed(false)
	return c
}

// didYouMean suggests the known word that was probably meant by a wrong one, if there is one.
func didYouMean(wrong string, known ...string) string {
	if meant := nearest.Of(wrong, slices.Values(known)); meant != "" {
		return fmt.Sprintf("; did you mean %s?", meant)
	}
	return ""
}
