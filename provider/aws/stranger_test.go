package aws_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// A stranger is an EC2-compatible API of another vendor. It answers calls about capacity reservations, placement groups and
// prices with an HTML page. A fleet uses its first override whatever its strategy, and dry runs are executed. Its instance
// types are unknown to AWS, and their descriptions lack fields.
type stranger struct{ http.Handler }

// strangeTypes are types that are not in the shipped table. The last one has no facts about its architecture and
// network, so it cannot be launched.
var strangeTypes = []string{"m99.large", "m99-flex.2xlarge", "u-9tb99.metal"}

const strangePage = "<!doctype html>\n<html lang=en>\n<title>500 Internal Server Error</title>\n<h1>Internal Server Error</h1>\n"

func (s stranger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		form = url.Values{}
	}
	action := form.Get("Action")
	switch {
	case action == "DescribeCapacityReservations", action == "DescribePlacementGroups",
		strings.Contains(r.Header.Get("X-Amz-Target"), "PriceList"), strings.Contains(r.URL.Path, "managedresources"):
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, strangePage)
		return
	case action == "CreateFleet", action == "RunInstances":
		form.Del("DryRun")
		firstOverride(form)
		body = []byte(form.Encode())
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	if action != "DescribeInstanceTypes" && action != "DescribeInstanceTypeOfferings" {
		s.Handler.ServeHTTP(w, r)
		return
	}
	recorded := httptest.NewRecorder()
	s.Handler.ServeHTTP(recorded, r)
	text := recorded.Body.String()
	if !strings.Contains(text, "<nextToken>") { // the last page
		text = withStrangers(action, text)
	}
	w.Header().Set("Content-Type", recorded.Header().Get("Content-Type"))
	w.WriteHeader(recorded.Code)
	_, _ = io.WriteString(w, text)
}

var laterOverride = regexp.MustCompile(`^LaunchTemplateConfigs\.(\d+)\.(?:Overrides\.(\d+)\.)?`)

// firstOverride removes all overrides of a fleet call except the first one of the first template.
func firstOverride(form url.Values) {
	for key := range form {
		m := laterOverride.FindStringSubmatch(key)
		if m != nil && (m[1] != "1" || m[2] != "" && m[2] != "1") {
			form.Del(key)
		}
	}
}

// withStrangers adds the strange types to the end of a list.
func withStrangers(action, text string) string {
	var items strings.Builder
	for n, name := range strangeTypes {
		if action == "DescribeInstanceTypeOfferings" {
			fmt.Fprintf(&items, "<item><instanceType>%s</instanceType><locationType>availability-zone</locationType><location>us-east-1a</location></item>", name)
			continue
		}
		about := "<processorInfo><supportedArchitectures><item>x86_64</item></supportedArchitectures></processorInfo>" +
			"<vCpuInfo><defaultVCpus>4</defaultVCpus></vCpuInfo><memoryInfo><sizeInMiB>16384</sizeInMiB></memoryInfo>" +
			"<networkInfo><maximumNetworkInterfaces>4</maximumNetworkInterfaces><ipv4AddressesPerInterface>15</ipv4AddressesPerInterface></networkInfo>"
		if n == len(strangeTypes)-1 {
			about = "<vCpuInfo><defaultVCpus>448</defaultVCpus></vCpuInfo><memoryInfo><sizeInMiB>9437184</sizeInMiB></memoryInfo>"
		}
		fmt.Fprintf(&items, "<item><instanceType>%s</instanceType>%s<supportedUsageClasses><item>on-demand</item></supportedUsageClasses></item>", name, about)
	}
	for _, end := range []string{"</instanceTypeSet>", "</instanceTypeOfferingSet>"} {
		text = strings.Replace(text, end, items.String()+end, 1)
	}
	return text
}
