package world

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// A Family is an operating system for which EKS publishes images, or Custom for all other images.
type Family string

// The families. A machine decodes its user data by the family of its image.
const (
	AL2          Family = "AL2"
	AL2023       Family = "AL2023"
	Bottlerocket Family = "Bottlerocket"
	Windows      Family = "Windows"
	Custom       Family = "Custom"
)

// An Image is an AMI.
type Image struct {
	ID, Name, Description string
	Arch                  string // x86_64 or arm64
	Owner, OwnerAlias     string
	Platform              string // "windows" or empty
	RootDevice            string
	RootGiB               int
	Created, Deprecated   time.Time
	Tags                  map[string]string
	Family                Family
	Variant               string // standard, nvidia or neuron
	Kubernetes            string // minor version, such as 1.36
	Parameters            []string
	Release               string // version in the name, such as v20261029
}

// The minor versions of Kubernetes for which images exist.
const oldestMinor, newestMinor = 30, 37

// releases are the dates on which images were published, oldest first.
var releases = []time.Time{
	time.Date(2026, 5, 14, 7, 21, 5, 0, time.UTC),
	time.Date(2026, 8, 20, 18, 2, 43, 0, time.UTC),
	time.Date(2026, 10, 29, 9, 48, 11, 0, time.UTC),
}

// bottlerocketVersions are the versions of Bottlerocket that were released on these dates.
var bottlerocketVersions = []string{"1.46.0", "1.49.1", "1.52.0"}

// buildImages returns all EKS images of a region, sorted by id. The id of an image depends only on its name and region.
func buildImages(region string) []Image {
	var out []Image
	for minor := oldestMinor; minor <= newestMinor; minor++ {
		k := fmt.Sprintf("1.%d", minor)
		for i, date := range releases {
			latest := i == len(releases)-1
			out = append(out, al2023Images(k, date, latest)...)
			out = append(out, bottlerocketImages(k, bottlerocketVersions[i], date, latest)...)
			if minor <= 32 { // AL2 images end with Kubernetes 1.32
				out = append(out, al2Images(k, date, latest)...)
			}
			if latest {
				out = append(out, windowsImages(k, date)...)
			}
		}
	}
	published(out, region)
	slices.SortFunc(out, func(a, b Image) int { return compareText(a.ID, b.ID) })
	return out
}

// published completes images of AWS.
func published(all []Image, region string) {
	for i := range all {
		all[i].ID = imageID(region, all[i].Name)
		all[i].Deprecated = all[i].Created.AddDate(2, 0, 0)
		all[i].Tags = map[string]string{}
	}
}

// ReleaseImages publishes a release of Amazon Linux 2023, one day newer than the newest one. It is recommended from now on.
func (w *World) ReleaseImages() {
	w.mu.Lock()
	defer w.mu.Unlock()
	var newest time.Time
	for i := range w.images {
		image := &w.images[i]
		if image.Family != AL2023 || image.Owner == w.cfg.Account {
			continue
		}
		if image.Created.After(newest) {
			newest = image.Created
		}
		image.Parameters = slices.DeleteFunc(slices.Clone(image.Parameters), func(p string) bool { return strings.HasSuffix(p, recommended) })
	}
	var release []Image
	for minor := oldestMinor; minor <= newestMinor; minor++ {
		release = append(release, al2023Images(fmt.Sprintf("1.%d", minor), newest.AddDate(0, 0, 1), true)...)
	}
	published(release, w.cfg.Region)
	w.images = append(w.images, release...)
	slices.SortFunc(w.images, func(a, b Image) int { return compareText(a.ID, b.ID) })
}

// Deprecate sets when an image of any owner is deprecated, and reports whether it exists.
func (w *World) Deprecate(id string, at time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.images, func(i Image) bool { return i.ID == id })
	if i < 0 {
		return false
	}
	w.images[i].Deprecated = at
	return true
}

// imageID derives an image's id from region and name.
func imageID(region, name string) string {
	h := fnv.New64a()
	h.Write([]byte(region + "/" + name))
	return fmt.Sprintf("ami-0%016x", h.Sum64())
}

// al2023Images returns the images of one release of Amazon Linux 2023.
func al2023Images(k string, date time.Time, latest bool) []Image {
	var out []Image
	for _, arch := range []string{"x86_64", "arm64"} {
		for _, variant := range []string{"standard", "nvidia", "neuron"} {
			if variant == "neuron" && arch == "arm64" {
				continue
			}
			name := fmt.Sprintf("amazon-eks-node-al2023-%s-%s-%s-%s", arch, variant, k, stamp(date))
			path := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/%s/", k, arch, variant)
			out = append(out, Image{
				Name: name, Arch: arch, Family: AL2023, Variant: variant, Kubernetes: k,
				Description: fmt.Sprintf("EKS-optimized Kubernetes node based on Amazon Linux 2023, (k8s: %s)", k),
				Owner:       "602401143452", OwnerAlias: "amazon", Created: date, Release: stamp(date),
				RootDevice: "/dev/xvda", RootGiB: 20, Parameters: eksParameters(path, name, latest),
			})
		}
	}
	return out
}

// al2Images returns the images of one release of Amazon Linux 2.
func al2Images(k string, date time.Time, latest bool) []Image {
	var out []Image
	for _, v := range []struct{ path, name, arch, variant string }{
		{"amazon-linux-2", "amazon-eks-node", "x86_64", "standard"},
		{"amazon-linux-2-arm64", "amazon-eks-arm64-node", "arm64", "standard"},
		{"amazon-linux-2-gpu", "amazon-eks-gpu-node", "x86_64", "nvidia"},
	} {
		name := fmt.Sprintf("%s-%s-%s", v.name, k, stamp(date))
		path := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/%s/", k, v.path)
		out = append(out, Image{
			Name: name, Arch: v.arch, Family: AL2, Variant: v.variant, Kubernetes: k,
			Description: fmt.Sprintf("EKS Kubernetes Worker AMI with AmazonLinux2 image, (k8s: %s)", k),
			Owner:       "602401143452", OwnerAlias: "amazon", Created: date, Release: stamp(date),
			RootDevice: "/dev/xvda", RootGiB: 20, Parameters: eksParameters(path, name, latest),
		})
	}
	return out
}

// bottlerocketImages returns the images of one release of Bottlerocket.
func bottlerocketImages(k, version string, date time.Time, latest bool) []Image {
	var out []Image
	for _, arch := range []string{"x86_64", "arm64"} {
		for _, variant := range []string{"standard", "nvidia"} {
			product := "aws-k8s-" + k
			if variant == "nvidia" {
				product += "-nvidia"
			}
			path := fmt.Sprintf("/aws/service/bottlerocket/%s/%s/", product, arch)
			image := Image{
				Name: fmt.Sprintf("bottlerocket-%s-%s-v%s-%08x", product, arch, version, date.Unix()),
				Arch: arch, Family: Bottlerocket, Variant: variant, Kubernetes: k,
				Description: "bottlerocket-" + product, Owner: "092701018921", OwnerAlias: "amazon",
				Created: date, Release: "v" + version, RootDevice: "/dev/xvda", RootGiB: 2,
				Parameters: []string{path + version + "/image_id"},
			}
			if latest {
				image.Parameters = append(image.Parameters, path+"latest/image_id")
			}
			out = append(out, image)
		}
	}
	return out
}

// windowsImages returns the images of the newest release of Windows Server.
func windowsImages(k string, date time.Time) []Image {
	var out []Image
	for _, year := range []string{"2019", "2022", "2025"} {
		name := fmt.Sprintf("Windows_Server-%s-English-Core-EKS_Optimized-%s", year, k)
		out = append(out, Image{
			Name: name + "-" + date.Format("2006.01.02"), Arch: "x86_64", Family: Windows, Variant: "standard",
			Kubernetes: k, Description: "Microsoft Windows Server " + year + " Core EKS Optimized",
			Owner: "801119661308", OwnerAlias: "amazon", Platform: "windows", Created: date,
			Release: date.Format("2006.01.02"), RootDevice: "/dev/sda1", RootGiB: 50,
			Parameters: []string{"/aws/service/ami-windows-latest/" + name + "/image_id"},
		})
	}
	return out
}

// recommended is the end of the name of the SSM parameter whose value is the id of the newest image.
const recommended = "recommended/image_id"

// eksParameters returns the names of the SSM parameters whose value is the id of an EKS image.
func eksParameters(path, name string, latest bool) []string {
	out := []string{path + name + "/image_id"}
	if latest {
		out = append(out, path+recommended)
	}
	return out
}

// stamp returns a release date in the form of image names.
func stamp(date time.Time) string { return "v" + date.Format("20060102") }

// AddImage registers an image that the account owns, and returns its id.
func (w *World) AddImage(image Image) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	image.ID = imageID(w.cfg.Region, image.Name)
	image.Owner, image.OwnerAlias = w.cfg.Account, ""
	if image.Created.IsZero() {
		image.Created = w.cfg.Clock.Now()
	}
	w.images = append(w.images, image)
	slices.SortFunc(w.images, func(a, b Image) int { return compareText(a.ID, b.ID) })
	return image.ID
}

// CopyImage registers a copy of an image, which another account owns and has made public, and returns its id.
func (w *World) CopyImage(id, name, owner string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	source := w.imageByID(id)
	if source == nil {
		return "", fmt.Errorf("copy image %s: there is no such image", id)
	}
	image := *source
	image.ID, image.Name = imageID(w.cfg.Region, owner+"/"+name), name
	image.Owner, image.OwnerAlias, image.Parameters = owner, "", nil
	image.Created, image.Deprecated, image.Tags = w.cfg.Clock.Now(), time.Time{}, map[string]string{}
	w.images = append(w.images, image)
	slices.SortFunc(w.images, func(a, b Image) int { return compareText(a.ID, b.ID) })
	return image.ID, nil
}

// Images returns all images, sorted by id.
func (w *World) Images() []Image {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.images)
}

// Parameter returns the value of a public SSM parameter, and the time at which it was set.
func (w *World) Parameter(name string) (value string, set time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name = strings.TrimPrefix(name, "arn:"+w.Partition()+":ssm:"+w.cfg.Region+"::parameter")
	for _, image := range w.images {
		if slices.Contains(image.Parameters, name) {
			return image.ID, image.Created, true
		}
	}
	return "", time.Time{}, false
}

// imageByID returns an image, nil if there is none.
func (w *World) imageByID(id string) *Image {
	i, ok := slices.BinarySearchFunc(w.images, id, func(image Image, id string) int { return compareText(image.ID, id) })
	if !ok {
		return nil
	}
	return &w.images[i]
}
