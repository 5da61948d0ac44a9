// SPDX-License-Identifier: Apache-2.0

package command

import (
	"path"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ponte-go/ponte/agent/model"
)

// readsBelow adds the directories that an unknown command may read with all files below them: those
// that it names, and its own if a program is known to look there, or if its operands are what
// another program finds.
func (r *effectReader) readsBelow(words []string) {
	if len(words) == 0 || slices.Contains(printers, words[0]) {
		return
	}
	lists := byProgram()[words[0]] != nil // its operands are files, and it looks into no directory
	_, changes := changers[words[0]]
	flat := (lists || changes) && searchesBelow(words) == ""
	deep := false
	for i, w := range words {
		if i > 0 && deep && w != "" && !strings.HasPrefix(w, "-") {
			r.file(model.EffectRead, strings.TrimSuffix(w, "/")+"/")
		}
		if i == 0 || slices.Contains(wrappers, path.Base(words[0])) {
			if looksAround(path.Base(w), words[i+1:]) {
				r.file(model.EffectRead, "./")
			}
			deep = deep || copies(path.Base(w), words[i+1:])
		}
		if i == 0 {
			continue
		}
		for _, part := range append(partsOf(w), w) {
			if dir, ok := directory(part, flat); ok {
				r.file(model.EffectRead, dir)
			}
		}
	}
}

// wrappers are programs that run the program that is among their operands.
var wrappers = strings.Fields("env sudo doas nice ionice nohup timeout stdbuf command exec " +
	"builtin time xargs busybox toybox npx pnpm yarn bunx uvx pipx find fd fdfind watch parallel " +
	"strace setsid unshare flock script chrt taskset eval then do else if while until ! {")

// copiers are programs that read the directories that they are given with all files below them.
// Those with options need one of these letters.
var copiers = func() map[string]string {
	all := map[string]string{
		"cp": "rRa", "scp": "r", "diff": "r", "gzip": "r", "zstd": "r", "xz": "r", "bzip2": "r",
	}
	for _, program := range strings.Fields("tar bsdtar gtar zip 7z 7za 7zz rar jar rsync dar " +
		"restic borg unison rclone rdfind s3cmd gsutil mksquashfs genisoimage xorriso kubectl aws az") {
		all[program] = ""
	}
	return all
}()

func copies(program string, args []string) bool {
	letters, ok := copiers[program]
	return ok && (letters == "" || slices.ContainsFunc(args, func(a string) bool {
		return a == "--recursive" || a == "--archive" || hasLetter(a, letters)
	}))
}

// directory returns the directory that a word certainly names, or that a shell looks for a glob in.
// With flat set, what globs find are files.
func directory(word string, flat bool) (dir string, ok bool) {
	if i := strings.IndexAny(word, "*?["); i >= 0 {
		if flat && !strings.Contains(word, "**") {
			return "", false
		}
		return word[:strings.LastIndexByte(word[:i], '/')+1] + "./", true
	}
	switch path.Base(word) {
	case ".", "..":
		return strings.TrimSuffix(word, "/") + "/", word != ""
	}
	return word, strings.HasSuffix(word, "/")
}

// printers are programs that read no directories, whatever their arguments are.
var printers = strings.Fields("echo printf test [ exit return export kill sleep cd pushd popd " +
	"true false : mkdir rmdir touch chmod chown rm unlink jq yq sed")

// around are programs that look into the directory that they run in, with all files below it, or
// whose operands other programs find. If words follow, it needs one of them for that.
var around = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(aroundText) {
		words := strings.Fields(line)
		for _, program := range strings.Split(words[0], ",") {
			all[program] = words[1:]
		}
	}
	return all
})

const aroundText = `ag,ack,rg,ugrep,rgrep,tokei,cloc,scc,repomix,files-to-prompt,gitingest
xargs,parallel,cpio,pax,read,mapfile,readarray
vercel,netlify,fly,flyctl,heroku,wrangler,gcloud,firebase,surge,railway,now,lftp
serve,http-server,httpd,code,cursor,hg,svn,jj,bzr,fossil,darcs,docker-compose
python,python3 http.server SimpleHTTPServer
php -S
caddy file-server
busybox httpd
npm,yarn,pnpm pack publish deploy
bun publish
cargo package publish
uv,poetry build publish
docker,podman,nerdctl build buildx compose
buildah build bud
sam,cdk,serverless deploy
find -exec -execdir -ok -okdir
fd,fdfind -x -X --exec --exec-batch
shopt,setopt dotglob globstar globdots dot_glob glob_dots
git add archive bundle checkout-index clone diff diff-files diff-index diff-tree difftool ` +
	`fast-export format-patch grep show stage stash whatchanged worktree`

// looksAround reports whether a program with these arguments is one of around, or searches its
// directory when it is given none.
func looksAround(program string, args []string) bool {
	if needs, ok := around()[program]; ok && len(needs) == 0 {
		return true
	} else if ok && slices.ContainsFunc(args, func(a string) bool {
		return slices.Contains(needs, a)
	}) {
		return true
	}
	switch {
	case strings.HasSuffix(program, "grep"):
		return slices.ContainsFunc(args, isRecursive)
	case program == "git" && slices.Contains(args, "commit"):
		return slices.ContainsFunc(args, func(a string) bool {
			return a == "--all" || hasLetter(a, "a")
		})
	case program == "git" && slices.Contains(args, "log"):
		return slices.ContainsFunc(args, func(a string) bool {
			return strings.HasPrefix(a, "--patch") || hasLetter(a, "puUcLGS")
		})
	}
	return false
}

// isRecursive reports whether an option of grep has it look into directories.
func isRecursive(w string) bool {
	switch {
	case strings.HasPrefix(w, "--"):
		return len(w) > 4 && (strings.HasPrefix("--recursive", w) ||
			strings.HasPrefix("--dereference-recursive", w) || strings.HasSuffix(w, "=recurse"))
	case w == "recurse":
		return true
	}
	return hasLetter(w, "rR") || strings.HasPrefix(w, "-d") && strings.HasSuffix(w, "recurse")
}

// hasLetter reports whether a word has options of one letter, with one of these among them.
func hasLetter(w, letters string) bool {
	one := strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--")
	return one && strings.ContainsAny(w, letters)
}

// listed adds the words that a loop goes through, which are operands of what is in it.
func (r *effectReader) listed(items []*syntax.Word) {
	var all []string
	for _, w := range items {
		all = append(all, r.vars.seemings(w)...)
		if substitutes(w) {
			r.file(model.EffectRead, "./")
			r.said(w, maxNested)
		}
	}
	r.unknown(all)
	for _, w := range all {
		if dir, ok := directory(w, true); ok {
			r.file(model.EffectRead, dir)
		}
	}
}

// substitutes reports whether a shell puts what a command prints in the place of a part of a word.
func substitutes(w *syntax.Word) (found bool) {
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			found = true
		}
		return !found
	})
	return found
}
