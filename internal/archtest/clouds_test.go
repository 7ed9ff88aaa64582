package archtest

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// cloudless are the trees whose code must not name a cloud.
var cloudless = []string{"engine", "cloud", "internal/observe", "internal/act", "internal/controller"}

// cloudName matches the name of a cloud, or of something that only one cloud has. It is used on code and on
// comments.
var cloudName = regexp.MustCompile(`(?i)\b(aws|amazon|eks|ec2\w*|kwok\w*|azure|gcp|gke)\b`)

// ofKubernetes are names of volume drivers and provisioners that contain the name of a cloud. They are
// allowed, because they are part of the API of Kubernetes.
var ofKubernetes = []string{
	"ebs.csi.aws.com", "kubernetes.io/aws-ebs", "pd.csi.storage.gke.io", "kubernetes.io/azure-disk", "disk.csi.azure.com",
	"kubernetes.io/azure-file", "file.csi.azure.com",
}

func TestNoCloudNames(t *testing.T) {
	var places []string
	for _, name := range filesOf(t, func(name string) bool {
		return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && anyWithin(name, cloudless)
	}) {
		places = append(places, cloudNames(name, read(t, name))...)
	}
	rule{
		must: strings.Join(cloudless, ", ") + " name no cloud",
		why:  "what depends on the name of a cloud works on that cloud only; providers bring their facts as values",
		fix:  "ask cloud.Provider, add to cloud.Facts, or say it without the name",
	}.report(t, places)
}

// cloudNames returns the lines of a file that name a cloud.
func cloudNames(name string, data []byte) []string {
	var places []string
	for i, line := range bytes.Split(data, []byte("\n")) {
		text := string(line)
		for _, known := range ofKubernetes {
			text = strings.ReplaceAll(text, `"`+known+`"`, "")
		}
		if found := cloudName.FindString(text); found != "" {
			places = append(places, fmt.Sprintf("%s:%d names %s", name, i+1, found))
		}
	}
	return places
}

func TestCloudNamesSeen(t *testing.T) {
	for text, want := range map[string]int{
		"// as AWS has it\nvar a = 1":     1,
		"if p.Name() == \"kwok\" {":       1,
		"var kind = \"EC2NodeClass\"":     1,
		"case \"kubernetes.io/aws-ebs\":": 0,
		"// the laws of packing; walks":   0,
		"x.AWSElasticBlockStore":          0,
	} {
		if got := cloudNames("engine/a.go", []byte(text)); len(got) != want {
			t.Errorf("%q: found %q, want %d", text, got, want)
		}
	}
}
