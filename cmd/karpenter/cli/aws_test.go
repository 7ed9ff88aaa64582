package cli

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go/logging"
)

// The user agent of calls of AWS contains the version of the program.
func TestUserAgent(t *testing.T) {
	agent := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agent = r.UserAgent()
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	for key, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
	} {
		t.Setenv(key, value)
	}
	config, err := loadAWS(t.Context(), "1.2.3", logging.Nop{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ec2.NewFromConfig(config).DescribeRegions(t.Context(), &ec2.DescribeRegionsInput{}); err == nil {
		t.Error("the call succeeds")
	}
	if words := strings.Fields(agent); !slices.Contains(words, "karpenter.sh-1.2.3") || !slices.Contains(words, "app/karpenter") {
		t.Errorf("the user agent is %q", agent)
	}
}
