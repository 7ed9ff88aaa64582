package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/internal/convert"
	"github.com/karpenter-go/karpenter/internal/report"
)

func convertCommand() *cobra.Command {
	var files []string
	var dir string
	var options convert.Options
	c := &cobra.Command{
		Use:   "convert -f FILE|DIR|-",
		Short: "Convert manifests of older APIs to v1",
		Long: "Convert manifests of older APIs to v1: Provisioner, AWSNodeTemplate, Machine, and NodePool, EC2NodeClass and\n" +
			"NodeClaim of v1beta1. The result goes to standard output, warnings go to standard error.\n\n" +
			"Documents that are v1 already, or of other kinds, come out as they are. What has no place in v1 is named.\n" +
			"Give a pool and its node class together: some fields move from one to the other.",
		Example: "  karpenter convert -f old.yaml | kubectl apply -f -\n" +
			"  karpenter convert -f manifests/ --output-dir converted/\n" +
			"  kubectl get provisioners,awsnodetemplates -o yaml | karpenter convert -f -",
		Args: cobra.NoArgs,
	}
	c.Flags().StringArrayVarP(&files, "filename", "f", nil, "file or directory of manifests, - for standard input; may be repeated")
	c.Flags().StringVar(&dir, "output-dir", "", "write a file for each file here instead of to standard output")
	c.Flags().StringVar(&options.Role, "role", "", "IAM role of nodes whose manifest names none")
	c.Flags().StringVar(&options.Cluster, "cluster-name", "", "name of the cluster, for what has to be filled in")
	c.Flags().BoolVar(&options.IgnoreDefaults, "ignore-defaults", false, "leave out the requirements that Provisioners had by default")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if len(files) == 0 {
			return coded{exitUsage, errors.New("-f FILE is missing; - reads standard input")}
		}
		in, err := readManifests(files, cmd.InOrStdin())
		if err != nil {
			return err
		}
		result, err := convert.Convert(in, options)
		if err != nil {
			return err
		}
		for _, w := range result.Warnings {
			level := "warning:"
			if w.Invalid {
				level = "error:"
			}
			fmt.Fprintln(cmd.ErrOrStderr(), level, w)
		}
		if dir != "" {
			err = writeFiles(dir, result.Files)
		} else {
			_, err = cmd.OutOrStdout().Write(result.Text())
		}
		if n := result.Invalid(); err == nil && n > 0 {
			return fmt.Errorf("%s: the output is complete, but invalid in v1 where an error is listed", report.Count(n, "error"))
		}
		return err
	}
	return c
}

// manifestEndings are the extensions of the files that are read in a directory.
var manifestEndings = []string{".yaml", ".yml", ".json"}

// readManifests reads files, and the manifests of directories and those below them, in order.
func readManifests(names []string, stdin io.Reader) ([]convert.File, error) {
	var files []convert.File
	for _, name := range names {
		if name == "-" {
			data, err := io.ReadAll(stdin)
			if err != nil {
				return nil, fmt.Errorf("read standard input: %w", err)
			}
			files = append(files, convert.File{Name: "standard input", Data: data})
			continue
		}
		before := len(files)
		err := filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || path != name && !slices.Contains(manifestEndings, filepath.Ext(path)) {
				return err
			}
			data, err := os.ReadFile(path)
			files = append(files, convert.File{Name: path, Data: data})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read manifests: %w", err)
		}
		if len(files) == before {
			return nil, fmt.Errorf("read manifests: %s has no %s file", name, strings.Join(manifestEndings, ", "))
		}
	}
	return files, nil
}

// writeFiles writes each file under its own name below dir. Two files of one name are an error before anything is written.
func writeFiles(dir string, files []convert.File) error {
	taken := map[string]string{}
	for _, f := range files {
		target := filepath.Join(dir, filepath.Base(f.Name))
		if f.Name == "standard input" {
			target = filepath.Join(dir, "stdin.yaml")
		}
		if other, ok := taken[target]; ok {
			return fmt.Errorf("write %s: both %s and %s would be written there; convert them one by one", target, other, f.Name)
		}
		taken[target] = f.Name
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	for target, name := range taken {
		i := slices.IndexFunc(files, func(f convert.File) bool { return f.Name == name })
		if err := os.WriteFile(target, files[i].Data, 0o644); err != nil {
			return fmt.Errorf("write manifests: %w", err)
		}
	}
	return nil
}
