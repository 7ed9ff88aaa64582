package main

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/karpenter-go/karpenter/provider/aws/policy"
)

//go:embed karpenter.yaml.tmpl
var stack string

func main() {
	root := flag.String("root", "..", "root of the repository")
	flag.Parse()
	files, err := generate()
	if err == nil {
		err = os.Chdir(*root)
	}
	if err == nil {
		err = write(files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "deploy:", err)
		os.Exit(1)
	}
}

// generate returns the files by path.
func generate() (map[string][]byte, error) {
	files := map[string][]byte{}
	text, err := cloudformation()
	if err != nil {
		return nil, err
	}
	files["deploy/cloudformation/karpenter.yaml"] = text
	for _, p := range policy.All(policy.Scope{
		Partition: "${partition}", Region: "${region}", Account: "${account}", Cluster: "${cluster}",
		NodeRole: "${node_role}", Queue: "${queue}", Suffix: "${url_suffix}",
	}) {
		document, err := p.Document()
		if err != nil {
			return nil, err
		}
		files["deploy/terraform/policies/"+p.Name+".json.tftpl"] = document
	}
	return files, nil
}

// cloudformation fills the template of the stack.
func cloudformation() ([]byte, error) {
	type named struct{ Name, Why, Document string }
	var list []named
	for _, p := range policy.All(policy.Scope{
		Partition: "${AWS::Partition}", Region: "${AWS::Region}", Account: "${AWS::AccountId}", Cluster: "${ClusterName}",
		NodeRole: "KarpenterNodeRole-${ClusterName}", Queue: "${ClusterName}", Suffix: "${AWS::URLSuffix}",
	}) {
		document, err := p.Document()
		if err != nil {
			return nil, err
		}
		indented := strings.ReplaceAll(strings.TrimSpace(string(document)), "\n", "\n        ")
		list = append(list, named{p.Name, p.Why, indented})
	}
	t, err := template.New("stack").Parse(stack)
	if err != nil {
		return nil, fmt.Errorf("parse template: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, list); err != nil {
		return nil, fmt.Errorf("fill template: %w", err)
	}
	return out.Bytes(), nil
}

func write(files map[string][]byte) error {
	if _, err := os.Stat("hack/deploy"); err != nil {
		return fmt.Errorf("find hack/deploy: -root is not the root of the repository: %w", err)
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return fmt.Errorf("write file: %w", err)
		}
	}
	return nil
}
