// SPDX-License-Identifier: Apache-2.0

package command

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/agent/model"
)

// configured adds the files that a command writes without naming them, if other programs execute or
// obey these files.
func (r *effectReader) configured(words []string) {
	for i := range words {
		if i > 0 && !slices.Contains(wrappers, path.Base(words[0])) {
			return
		}
		command := words[i:]
		switch path.Base(words[0]) {
		case "xargs", "parallel": // which add words
			command = append(slices.Clip(command), "…")
		}
		if gitConfigures(command) {
			r.file(model.EffectWrite, ".git/config")
		}
		for _, c := range configurers()[path.Base(command[0])] {
			if c.fits(command[1:]) {
				r.file(model.EffectWrite, c.path)
			}
		}
	}
}

// configurer is a program that writes a file which it does not name.
type configurer struct {
	path string
	// One of each of the words must be there, in this order. Those with "!" in front must not.
	words [][]string
}

// configurers are by the names of the programs.
var configurers = sync.OnceValue(func() map[string][]configurer {
	all := map[string][]configurer{}
	for line := range strings.Lines(configurersText) {
		if words := strings.Fields(line); len(words) > 1 {
			c := configurer{path: words[0]}
			for _, w := range words[2:] {
				c.words = append(c.words, strings.Split(w, ","))
			}
			for program := range strings.SplitSeq(words[1], ",") {
				all[program] = append(all[program], c)
			}
		}
	}
	return all
})

// Each line has a file, the programs, and words for each that their arguments have.
const configurersText = `
.npmrc npm,pnpm config,c set,delete,rm,edit,fix
.npmrc npm,pnpm set,login,adduser,add-user
.yarnrc.yml yarn config,set,plugin set,unset,delete,version,import,remove
.config/pip pip,pip3,python,python3 config set,unset,edit
.config/go go env -w,-u
.bundle/config bundle,bundler config set,unset,--global,--local
.composer/config.json composer config -g,--global
.config/gh gh alias,config,extension,auth set,import,install,upgrade,login,refresh,setup-git
.condarc conda,mamba,micromamba config --add,--set,--append,--prepend,--remove,--remove-key,set
.bashrc conda,mamba,micromamba init
.bashrc pipx ensurepath
.bashrc uv update-shell
.bashrc opam init
.bashrc pnpm setup
.rustup/settings.toml rustup default,override,link,set
.envrc direnv allow,permit,grant,edit
.mise.toml mise,rtx trust,use,settings,set,alias
.tool-versions asdf set,local,global,plugin
.git/hooks pre-commit,prek,lefthook,overcommit,captainhook install,init-templatedir,--install,-i
.husky husky,simple-git-hooks
.git/config scalar register,clone,run
.git/config git-crypt,git-secret,git-lfs,git-flow,git-annex init,install,unlock
.hg hg init,clone
.hgrc hg config -e,--edit,--local,--global
.jj jj git,init init,clone
.jjconfig.toml jj config set,unset,edit,e
.claude.json claude mcp,plugin,config add,add-json,add-from-claude-desktop
.claude.json claude mcp,plugin,config install,set,enable,marketplace
.codex codex mcp add
.gemini gemini,qwen mcp,extensions add,install,link,enable
.amp amp mcp add
.cursor cursor-agent mcp enable,add
.vscode code,code-insiders,codium,cursor,windsurf --install-extension,--add-mcp
spool/cron crontab !-l
spool/at at !-l
spool/at batch
.config/systemd systemctl enable,link,edit,preset,reenable,add-wants,add-requires
.config/systemd systemctl set-environment,import-environment
.config/systemd systemd-run
Library/LaunchAgents launchctl load,bootstrap,submit,setenv,enable
Library/Preferences defaults write,import,delete,rename
.config/dconf gsettings set,reset
.config/dconf dconf write,load,reset
.config/mimeapps.list xdg-mime,xdg-settings default,set,install
etc/passwd chsh,usermod,useradd,adduser,chpasswd,vipw,passwd
etc/sudoers visudo !-c
etc/ssh update-alternatives --install,--set,--config
.ssh ssh-keygen !-F !-l !-y
.docker docker,podman login,logout
.docker docker context create,use,update,import,rm
.kube kubectl config set,set-context,set-cluster,set-credentials,use-context,use
.kube kubectl config unset,rename-context
.kube aws,az,gcloud update-kubeconfig,get-credentials
.aws aws configure !list !get !list-profiles
.config/gcloud gcloud config,auth set,unset,login,activate-service-account
.config/helm helm plugin,repo install,update,add
.terraform.d terraform,tofu login
`

// fits reports whether arguments are those of a configurer.
func (c *configurer) fits(args []string) bool {
	is := func(word string) func(string) bool {
		return func(arg string) bool {
			name, _, _ := strings.Cut(arg, "=")
			return name == word
		}
	}
	for _, words := range c.words {
		if word, not := strings.CutPrefix(words[0], "!"); not {
			if slices.ContainsFunc(args, is(word)) {
				return false
			}
			continue
		}
		found := slices.IndexFunc(args, func(arg string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return is(w)(arg) })
		})
		if found < 0 {
			return false
		}
		args = args[found+1:]
	}
	return true
}

// gitConfigures reports whether a command of git changes the configuration or the hooks of a
// repository.
func gitConfigures(words []string) bool {
	if path.Base(words[0]) != "git" {
		return false
	}
	rest := words[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		n := 1
		switch rest[0] {
		case "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source":
			n = 2
		}
		rest = rest[min(n, len(rest)):]
	}
	if len(rest) == 0 {
		return false
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(rest, func(w string) bool {
			return slices.Contains(names, w)
		})
	}
	option := func(letters string, names ...string) bool {
		return slices.ContainsFunc(rest, func(w string) bool {
			return hasLetter(w, letters) || slices.ContainsFunc(names, func(name string) bool {
				w, _, _ := strings.Cut(w, "=")
				return len(w) > 4 && strings.HasPrefix(name, w) // an abbreviation
			})
		})
	}
	switch rest[0] {
	case "config":
		looks := has("--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l", "get",
			"list")
		return has("-e", "--edit", "edit") || len(rest) != 2 && !looks
	case "remote":
		return has("add", "set-url", "rename", "remove", "rm", "set-head", "set-branches")
	case "push", "branch":
		return option("u", "--set-upstream-to", "--unset-upstream", "--edit-description")
	case "fetch", "pull":
		return option("", "--set-upstream")
	case "clone":
		return option("c", "--template", "--config")
	case "submodule":
		return len(rest) > 1 && !has("status", "summary")
	case "annex", "crypt", "flow", "secret", "svn":
		return has("init", "initremote", "enableremote", "clone")
	case "credential", "credential-store":
		return has("approve", "store")
	case "init", "lfs", "sparse-checkout", "maintenance":
		return true
	}
	return false
}
