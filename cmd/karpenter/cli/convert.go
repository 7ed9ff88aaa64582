package cli

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/convert"
	"github.com/karpenter-go/karpenter/internal/manifest"
)

func convertCommand() *cobra.Command {
	var files []string
	var dir string
	var options convert.Options
	c := &cobra.Command{
		Use:   "convert -f FILE|DIR|-",
		Short: "Convert manifests of older API versions to v1",
		Long: "Convert manifests of older API versions to v1: Provisioner, AWSNodeTemplate, Machine, and NodePool,\n" +
			"EC2NodeClass and NodeClaim of v1beta1. Print the result to standard output and warnings to standard error.\n\n" +
			"Documents of v1 and of other kinds are copied unchanged. A warning names each field that was changed or removed.\n" +
			"Convert a NodePool together with its node class: some fields move from one to the other. Templates (Helm, Terraform,\n" +
			"envsubst, Jinja) are converted with their expressions in place.\n" +
			"Exit code 1 if the output is invalid in v1, or if a document is not valid YAML or is a template that would not survive\n" +
			"the conversion: each such field or document is listed as an error, and the output is complete.",
		Example: "  karpenter convert -f old.yaml | kubectl apply -f -\n" +
			"  karpenter convert -f manifests/ --output-dir converted/\n" +
			"  kubectl get provisioners,awsnodetemplates -o yaml | karpenter convert -f -",
		Args: noArgs,
	}
	c.Flags().StringArrayVarP(&files, "filename", "f", nil, filesUsage)
	c.Flags().StringVar(&dir, "output-dir", "", "Directory to write one file per input file to, instead of standard output")
	c.Flags().StringVar(&options.Role, "role", "", "IAM role of node classes without role and instanceProfile (default KarpenterNodeRole-CLUSTER)")
	c.Flags().StringVar(&options.Cluster, "cluster-name", "", "Name of the cluster, for roles and tags that the manifests lack (default: the value of the discovery tags, or CLUSTER_NAME)")
	c.Flags().BoolVar(&options.IgnoreDefaults, "ignore-defaults", false, "Do not add the requirements that Provisioners had by default")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if len(files) == 0 {
			return errNoFiles
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
			return fmt.Errorf("%s: the output is complete, but invalid where an error is listed", units.Counted(n, "error"))
		}
		return err
	}
	return c
}

// manifestEndings are the extensions of the files that are read in a directory.
var manifestEndings = []string{".yaml", ".yml", ".json"}

// readManifests reads files, and the manifests of directories and those below them, in order. It returns an error for a
// directory without manifests.
func readManifests(names []string, stdin io.Reader) ([]convert.File, error) {
	var files []convert.File
	for _, name := range names {
		if name == "-" {
			data, err := io.ReadAll(stdin)
			if err != nil {
				return nil, fmt.Errorf("read standard input: %w", err)
			}
			files = append(files, convert.File{Name: "standard input", Data: manifest.UTF8(data)})
			continue
		}
		before := len(files)
		err := filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || path != name && !slices.Contains(manifestEndings, filepath.Ext(path)) {
				return err
			}
			data, err := os.ReadFile(path)
			files = append(files, convert.File{Name: path, Data: manifest.UTF8(data)})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read manifests: %w", err)
		}
		if len(files) == before {
			return nil, fmt.Errorf("directory %s has no file with the extension %s", name, strings.Join(manifestEndings, ", "))
		}
	}
	return files, nil
}

// writeFiles writes each file under its base name in dir, and standard input as stdin.yaml. If two files have the same
// name, it returns an error and writes nothing.
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
