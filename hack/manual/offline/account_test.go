package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/karpenter-go/karpenter/hack/manual/account"
	"github.com/karpenter-go/karpenter/internal/awsemu"
)

// serveAccount serves an AWS account with the EKS cluster demo for one page of the manual. It returns the environment variables
// by which programs use that account.
func serveAccount(t *testing.T) []string {
	t.Helper()
	emulator, err := awsemu.New(awsemu.Config{Region: account.Region, Account: account.ID, Cluster: awsemu.Cluster{Name: "demo"}})
	if err != nil {
		t.Fatal(err)
	}
	a := account.New(emulator, "KarpenterControllerRole-production")
	if a.Groups, err = nodeGroups(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return []string{"AWS_ENDPOINT_URL=" + server.URL, "AWS_REGION=" + account.Region, "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=a",
		"AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null"}
}

// nodeGroups returns the node groups of the example, by name.
func nodeGroups() (map[string]json.RawMessage, error) {
	file, err := os.Open("../../../examples/migrate/nodegroups.json")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	groups := map[string]json.RawMessage{}
	for d := json.NewDecoder(file); ; {
		var answer struct{ Nodegroup json.RawMessage }
		if err := d.Decode(&answer); errors.Is(err, io.EOF) {
			return groups, nil
		} else if err != nil {
			return nil, err
		}
		var name struct{ NodegroupName string }
		if err := json.Unmarshal(answer.Nodegroup, &name); err != nil {
			return nil, err
		}
		groups[name.NodegroupName] = answer.Nodegroup
	}
}

// envsubst replaces environment variables in text. Unlike the program of that name, it fails if one is not set.
func envsubst() {
	text, err := io.ReadAll(os.Stdin)
	missing := ""
	filled := os.Expand(string(text), func(name string) string {
		value, ok := os.LookupEnv(name)
		if !ok {
			missing = name
		}
		return value
	})
	if err != nil || missing != "" {
		fmt.Fprintf(os.Stderr, "envsubst: %s is not set (%v)\n", missing, err)
		os.Exit(1)
	}
	fmt.Print(filled)
}
