// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ponte-go/ponte/app/config"
)

// configCommand is "config".
func (e *Env) configCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "config", Short: "Show where the configuration is, and what it may have", GroupID: groupOther,
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	project := false
	schema := &cobra.Command{
		Use: "schema", Short: "Write the JSON schema of the configuration file, for editors", Args: cobra.NoArgs,
		Long: `Writes the JSON schema of the configuration file. Editors complete and check a file that names it:

  ` + e.Name + ` config schema >config.schema.json
  {"$schema": "./config.schema.json", …}`,
		RunE: func(*cobra.Command, []string) error {
			make := config.UserSchema
			if project {
				make = config.ProjectSchema
			}
			data, err := make()
			if err == nil {
				_, err = e.Out.Write(data)
			}
			return err
		},
	}
	schema.Flags().BoolVar(
		&project, "project", false,
		"the schema of the file of a project, "+config.ProjectFile(e.Name),
	)
	c.AddCommand(schema, &cobra.Command{
		Use: "path", Short: "Write the path of the configuration file, which need not exist", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			file := *e.configFile
			if file == "" {
				dir, err := config.UserDir(e.Name)
				if err != nil {
					return err
				}
				file = filepath.Join(dir, "config.json")
			}
			_, err := fmt.Fprintln(e.Out, file)
			return err
		},
	})
	return c
}
