package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/passport"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/progress"
	document "github.com/rdma-gauntlet/gauntlet/reports/passport"
	"github.com/rdma-gauntlet/gauntlet/reports/passport/seal"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

func passportCommand() *cobra.Command {
	c := &cobra.Command{Use: "passport",
		Short: "Sign the result of a qualification; verify, compare and show passports"}
	c.AddCommand(passportSignCommand(), passportVerifyCommand(), passportDiffCommand(), passportPageCommand())
	return c
}

// passportFlags are the flags of the commands that make a passport.
type passportFlags struct{ passport.SignOptions }

// define declares the flags for the key and for the facts about the lab; the flag for the file differs between
// commands.
func (f *passportFlags) define(c *cobra.Command, prefix string) {
	c.Flags().StringVar(&f.Key, prefix+"key", "",
		"SSH key that signs: a private key, or the public half of one that the agent has (default: the "+
			"only key of the agent)")
	c.Flags().BoolVar(&f.Lab, prefix+"lab", false,
		"also write facts about the lab into the passport: command, reasons, findings, environment, "+
			"owners of waivers")
}

// sign makes the passport of a report folder, and prints a line about it.
func (f *passportFlags) sign(ctx context.Context, folder string, quiet bool) error {
	print, err := f.Sign(ctx, folder)
	if err == nil && !quiet {
		fmt.Fprintf(os.Stderr, "gauntlet: passport %s, signed with %s\n", f.File, print)
	}
	return err
}

func passportSignCommand() *cobra.Command {
	var f passportFlags
	var quiet bool
	c := &cobra.Command{
		Use:   "sign FOLDER",
		Short: "Make the passport of a report folder of qualify, and sign it",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if f.File == "" {
				return usage(errors.New("--out: name the file of the passport"))
			}
			return f.sign(c.Context(), args[0], quiet)
		},
	}
	c.Flags().StringVar(&f.File, "out", "", "file to write")
	c.Flags().BoolVar(&quiet, "quiet", false, "print nothing on success")
	f.define(c, "")
	return c
}

// checkFlags are the flags of the commands that read passports.
type checkFlags struct {
	passport.Options
	at     string
	output outputFlags
}

func (f *checkFlags) define(c *cobra.Command) {
	c.Flags().StringVar(&f.Signers, "allowed-signers", "", "file of the signers, in the format of ssh-keygen")
	c.Flags().StringVar(&f.Signer, "signer", "",
		"required signer: a principal of the allowed signers (default: any)")
	c.Flags().StringVar(&f.at, "at", "",
		"time at which the key has to be valid, 20270131 or 20270131235900Z (default: now)")
}

// check parses the time, and checks that flags are combined as they have to be.
func (f *checkFlags) check() (err error) {
	switch f.Options.At = time.Now(); {
	case f.Signers == "" && (f.Signer != "" || f.at != ""):
		return usage(errors.New("--signer and --at are about --allowed-signers FILE"))
	case f.at != "":
		if f.Options.At, err = seal.ParseTime(f.at); err != nil {
			return usage(fmt.Errorf("--at %.40q: %w", f.at, err))
		}
	}
	return nil
}

// passportError returns the error of a command that reads passports: a signature that is refused is a failure.
func passportError(err error) error {
	if errors.As(err, new(*passport.Refused)) {
		return ending(exitFailure, err)
	}
	return err
}

func passportVerifyCommand() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "verify FILE --allowed-signers FILE",
		Short: "Verify the signature and the content of a passport",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneOf(c, "color"); err != nil {
				return usage(err)
			}
			if f.Signers == "" {
				return usage(errors.New(
					"--allowed-signers: name the file of those who may sign; see the help of verify"))
			}
			if err := f.check(); err != nil {
				return err
			}
			bar := progress.New(os.Stderr, !f.output.quiet)
			checked, err := passport.Verify(c.Context(), args[0], f.Options, bar.Show)
			bar.Done()
			if err != nil {
				return passportError(err)
			}
			if err := show(checked, &f.output, terminal.Passport); err != nil {
				return broken(err)
			}
			if !checked.So() {
				return exit{code: exitFailure}
			}
			return nil
		},
	}
	f.define(c)
	c.Flags().StringVar(&f.Evidence, "evidence", "",
		"report folder of the qualification: its hashes are compared, and its traces judged again")
	f.output.define(c, "no progress line")
	return c
}

func passportDiffCommand() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Compare two passports, such as those of two firmware versions",
		Args:  cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if err := errors.Join(oneOf(c, "color"), f.check()); err != nil {
				return usage(err)
			}
			var list [2]*document.Checked
			for i, file := range args {
				var err error
				if list[i], err = passport.Read(c.Context(), file, f.Options); err != nil {
					return passportError(err)
				}
			}
			d := document.Diff(list[0].Passport, list[1].Passport)
			switch err := show(d, &f.output, terminal.Difference); {
			case err != nil:
				return broken(err)
			case d.Worsened():
				return exit{code: exitFailure}
			}
			return nil
		},
	}
	f.define(c)
	c.Flags().BoolVar(&f.output.json, "json", false, jsonHelp)
	colorFlag(c, &f.output.color)
	return c
}

func passportPageCommand() *cobra.Command {
	var f checkFlags
	var out string
	c := &cobra.Command{
		Use:   "page FILE... --html OUT",
		Short: "Write a page for a passport, or for each of several and one that compares them",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if out == "" {
				return usage(errors.New(
					"--html: name the file of the page, or the folder of the pages of several passports"))
			}
			if err := f.check(); err != nil {
				return err
			}
			return passportError(passport.Pages(c.Context(), args, f.Options, out))
		},
	}
	f.define(c)
	c.Flags().StringVar(&out, "html", "", "file to write; of several passports a folder, with index.html")
	return c
}
