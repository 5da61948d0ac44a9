// SPDX-License-Identifier: Apache-2.0

// Package skills gives an agent skills: folders with instructions for a kind of task, and the files
// that go with them (https://agentskills.io). The model sees what skills there are, and loads one
// when a task needs it.
//
//	skills.New(skills.Options{},
//		skills.Workspace(func(d Deps) *workspace.Session { return d.Work }, ".agents/skills"),
//		skills.FS[Deps](embedded, "skills"),
//		skills.Code[Deps](skills.Skill{Name: "release", Description: "…", Body: "…"}),
//	)
//
// # Skills
//
// A skill is a folder with a file SKILL.md: YAML front matter between two lines "---", then
// Markdown. The front matter has a name of 1 to 64 lower-case letters, digits and single hyphens,
// which is also the folder's name, and a description of 1 to 1,024 characters. License,
// compatibility (up to 500 characters) and metadata may follow. Other fields are ignored, including
// allowed-tools: a file grants no permissions.
//
// A skill without a description, or whose front matter cannot be read, is left out. One that breaks
// another rule is used: by its own name, or by its folder's if its own is not valid.
// [Options.Problem] and the command /skill report both with the reason. If names are equal, the
// first source is used.
//
// # The model's view
//
// The instructions of a run list the names and descriptions, sorted, in at most
// [Options.MaxCatalogue] bytes. They are read once, when a run begins, so they are the same in all
// its requests. The tool load_skill returns the current instructions of a skill and the names of
// its files.
//
// # Files and scripts
//
// Files of skills in the workspace are files like any other: the model reads them with the
// workspace's tools and runs scripts as commands, after the same approvals. Files of other skills
// are read with the tool read_skill_file. Their scripts cannot be run where they are; the model may
// write them to the workspace first.
//
// # The command /skill
//
// "/skill" lists the skills and what is wrong with those that were left out. "/skill NAME TASK" has
// the agent do a task with a skill that the user chooses.
package skills
