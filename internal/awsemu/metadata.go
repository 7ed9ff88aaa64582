package awsemu

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

// metadataPrefix is the path of the instances' metadata services. The emulator's address with this path and the
// instance's id corresponds to http://169.254.169.254 on a real instance.
const metadataPrefix = "/_emulator/imds/"

const (
	tokenHeader    = "X-Aws-Ec2-Metadata-Token"
	tokenTTLHeader = "X-Aws-Ec2-Metadata-Token-Ttl-Seconds"
	longestToken   = 21600 // seconds
)

// Metadata returns the metadata service of one instance as a handler for the root of a server, because the SDK's client
// does not support a path prefix.
func (e *Emulator) Metadata(id string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.serveMetadata(w, r, id+r.URL.Path)
	})
}

// serveMetadata serves a request of an instance. rest is the path: <id>/latest/...
func (e *Emulator) serveMetadata(w http.ResponseWriter, r *http.Request, rest string) {
	id, path, _ := strings.Cut(rest, "/")
	now, all := e.world.Now(), e.world.Instances(false)
	n := slices.IndexFunc(all, func(i world.Instance) bool { return i.ID == id })
	if n < 0 || all[n].State(now) == world.Terminated {
		http.Error(w, "there is no such machine", http.StatusGatewayTimeout)
		return
	}
	i := all[n]
	if i.Data.Metadata.Endpoint == "disabled" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	if path == "latest/api/token" {
		serveToken(w, r, id, now)
		return
	}
	if given := r.Header.Get(tokenHeader); given != "" || i.Data.Metadata.Tokens == "required" {
		if !validToken(given, id, now) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
	}
	if r.Method != http.MethodGet {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, ok := look(e.metadata(i), strings.TrimPrefix(path, "latest/"))
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, body) // a write fails only if the client has disconnected
}

// serveToken returns a session token. The token contains its time of expiry, so it need not be stored.
func serveToken(w http.ResponseWriter, r *http.Request, id string, now time.Time) {
	ttl, err := strconv.Atoi(r.Header.Get(tokenTTLHeader))
	switch {
	case r.Method != http.MethodPut:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case r.Header.Get("X-Forwarded-For") != "": // the request comes from a proxy, not from the instance
		w.WriteHeader(http.StatusForbidden)
	case err != nil || ttl < 1 || ttl > longestToken:
		w.WriteHeader(http.StatusBadRequest)
	default:
		w.Header().Set(tokenTTLHeader, strconv.Itoa(ttl))
		_, _ = io.WriteString(w, tokenOf(id, now.Add(time.Duration(ttl)*time.Second)))
	}
}

func tokenOf(id string, until time.Time) string {
	return base64.URLEncoding.EncodeToString(fmt.Appendf(nil, "%s %d", id, until.Unix()))
}

func validToken(token, id string, now time.Time) bool {
	raw, err := base64.URLEncoding.DecodeString(token)
	if err != nil {
		return false
	}
	text, ok := strings.CutPrefix(string(raw), id+" ")
	until, err := strconv.ParseInt(text, 10, 64)
	return ok && err == nil && now.Unix() < until
}

// look returns the value at a path. If there is none, it returns the names below the path, one per line. A name with further
// names below it ends in a slash.
func look(tree map[string]string, path string) (string, bool) {
	if v, ok := tree[path]; ok {
		return v, true
	}
	dir := strings.TrimSuffix(path, "/")
	if dir != "" {
		dir += "/"
	}
	names := map[string]bool{}
	for key := range tree {
		rest, below := strings.CutPrefix(key, dir)
		if !below {
			continue
		}
		name, _, more := strings.Cut(rest, "/")
		if more {
			name += "/"
		}
		names[name] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), "\n"), len(names) > 0
}

// metadata returns all data of the service for an instance, by path.
func (e *Emulator) metadata(i world.Instance) map[string]string {
	out := map[string]string{"dynamic/instance-identity/document": e.identity(i)}
	if data, err := base64.StdEncoding.DecodeString(i.Data.UserData); err == nil && len(data) > 0 {
		out["user-data"] = string(data)
	}
	for k, v := range e.plainMetadata(i) {
		if v != "" {
			out["meta-data/"+k] = v
		}
	}
	return out
}

func (e *Emulator) plainMetadata(i world.Instance) map[string]string {
	region := e.world.Region()
	lifecycle := "on-demand"
	if i.Capacity == world.Spot {
		lifecycle = "spot"
	}
	out := map[string]string{
		"ami-id": i.Image.ID, "ami-launch-index": "0", "ami-manifest-path": "(unknown)",
		"instance-id": i.ID, "instance-type": i.Type, "instance-life-cycle": lifecycle, "instance-action": "none",
		"hostname": i.PrivateDNS(region), "local-hostname": i.PrivateDNS(region), "local-ipv4": i.Address.String(), "ipv6": ipv6Text(i),
		"mac": macOf(i), "reservation-id": i.ReservationID,
		"placement/availability-zone": i.Zone, "placement/availability-zone-id": i.ZoneID, "placement/region": region,
		"placement/group-name":      i.Data.Placement.GroupName,
		"services/domain":           e.world.Domain(),
		"services/partition":        e.world.Partition(),
		"block-device-mapping/ami":  "xvda",
		"block-device-mapping/root": i.Image.RootDevice,
		"metrics/vhostmd":           "",
		"system":                    "nitro",
		"security-groups":           e.groupNames(i),
		"tags/instance":             "",
	}
	if i.Data.Placement.Partition > 0 {
		out["placement/partition-number"] = strconv.Itoa(i.Data.Placement.Partition)
	}
	if i.Data.Metadata.Tags == "enabled" {
		for k, v := range i.Tags {
			out["tags/instance/"+k] = v
		}
	}
	e.addNotices(out, i)
	e.addRole(out, i)
	e.addInterfaces(out, i)
	return out
}

// addNotices adds the interruption notice of an instance that EC2 reclaims, and the rebalance recommendation.
func (e *Emulator) addNotices(out map[string]string, i world.Instance) {
	if !i.NoticeAt.IsZero() && !i.EndsAt.IsZero() {
		end := i.EndsAt.UTC().Format(time.RFC3339)
		out["spot/termination-time"] = end
		out["spot/instance-action"] = fmt.Sprintf(`{"action":"terminate","time":"%s"}`, end)
	}
	if !i.RebalanceAt.IsZero() {
		out["events/recommendations/rebalance"] = fmt.Sprintf(`{"noticeTime":"%s"}`, i.RebalanceAt.UTC().Format(time.RFC3339))
	}
}

// addRole adds the instance profile and credentials of its role.
func (e *Emulator) addRole(out map[string]string, i world.Instance) {
	p, err := e.world.Profile(lastSegment(i.Data.Profile))
	if err != nil || len(p.Roles) == 0 {
		return
	}
	updated := i.Launched.UTC().Format(time.RFC3339)
	out["iam/info"] = jsonText(map[string]string{
		"Code": "Success", "LastUpdated": updated, "InstanceProfileArn": p.ARN, "InstanceProfileId": p.ID,
	})
	out["iam/security-credentials/"+p.Roles[0]] = jsonText(map[string]string{
		"Code": "Success", "LastUpdated": updated, "Type": "AWS-HMAC", "AccessKeyId": "ASIAEMULATED", "SecretAccessKey": "emulated",
		"Token": "emulated-" + i.ID, "Expiration": e.world.Now().Add(6 * time.Hour).UTC().Format(time.RFC3339),
	})
}

// addInterfaces adds the network interface below its MAC address.
func (e *Emulator) addInterfaces(out map[string]string, i world.Instance) {
	at := "network/interfaces/macs/" + macOf(i) + "/"
	for _, s := range e.world.Subnets() {
		if s.ID != i.Subnet {
			continue
		}
		for k, v := range map[string]string{
			"device-number": "0", "interface-id": "eni-" + i.ID[len("i-"):len(i.ID)-1] + "0", "local-ipv4s": i.Address.String(), "ipv6s": ipv6Text(i),
			"local-hostname": i.PrivateDNS(e.world.Region()), "mac": macOf(i), "owner-id": e.world.Account(),
			"security-group-ids": strings.Join(i.Groups, "\n"), "security-groups": e.groupNames(i),
			"subnet-id": s.ID, "subnet-ipv4-cidr-block": s.CIDR, "subnet-ipv6-cidr-blocks": s.IPv6CIDR,
			"vpc-id": s.VPC, "vpc-ipv4-cidr-block": world.VPCRange, "vpc-ipv4-cidr-blocks": world.VPCRange,
		} {
			if v != "" {
				out[at+k] = v
			}
		}
	}
}

func (e *Emulator) groupNames(i world.Instance) string {
	groups, names := e.groupsByID(), []string{}
	for _, id := range i.Groups {
		names = append(names, groups[id].Name)
	}
	return strings.Join(names, "\n")
}

// macOf derives the MAC address of the first interface from its IPv4 address.
func macOf(i world.Instance) string {
	b := i.Address.As4()
	return fmt.Sprintf("0a:e0:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3])
}

// identity returns the instance identity document.
func (e *Emulator) identity(i world.Instance) string {
	return jsonText(map[string]any{
		"accountId": e.world.Account(), "architecture": i.Arch, "availabilityZone": i.Zone, "billingProducts": nil,
		"devpayProductCodes": nil, "marketplaceProductCodes": nil, "imageId": i.Image.ID, "instanceId": i.ID, "instanceType": i.Type,
		"kernelId": nil, "pendingTime": i.Launched.UTC().Format(time.RFC3339), "privateIp": i.Address.String(), "ramdiskId": nil,
		"region": e.world.Region(), "version": "2017-09-30",
	})
}

// jsonText encodes a value as indented JSON, like AWS. It panics if the value cannot be encoded.
func jsonText(v any) string {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("awsemu: metadata does not encode: %v", err))
	}
	return string(text)
}
