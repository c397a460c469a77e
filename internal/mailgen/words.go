package mailgen

import "strings"

var (
	domains     = strings.Fields("example.org mail.example.com example.net lists.example.org corp.example.com uni.example.edu")
	protocols   = strings.Fields("ESMTPS ESMTP SMTP LMTP")
	headerNames = strings.Fields("Message-ID User-Agent Content-Type List-Id")
	agents      = []string{"Mutt/2.2.9", "Thunderbird 115.6", "Evolution 3.46", "mailx 8.1.2", "Gnus/5.13 (Emacs 28.2)"}

	// footers are the endings of bodies.
	footers = []string{
		"",
		"\n-- \nSent from the train, please excuse the brevity.\n",
		"\n-- \nThis message is meant for the person it is addressed to. If that is not you, please delete it.\n",
		"\n_______________________________________________\nTo leave this list write to leave@lists.example.org\n",
	}

	names = strings.Fields(`
ada alan amal anna aya ben bruno chen clara dario dana elif emil eva farid fay gita greta hana hugo ida igor ines ivan
jana jin joao kai kofi lara leo lin lucia mara max mei milo mina nadia niko noor olga omar otto paula per priya quinn
rosa ravi rui sara sven taro tess uma ute vera viktor wei wim xenia yara yusuf zara zeno`)

	vocabulary = strings.Fields(`
the to and of a in is that for it on you we be with this have as are at not will by from or can if an our all please
your was but they has there which one would about when what some any do so up out more me my new time just like know
them only see no get should been also now could use first need work than
who here how after then other into over may
because before where back make well good team thanks meeting report table column row file week day tomorrow today
monday tuesday wednesday thursday friday question answer budget invoice project release version server disk network
query schema storage cluster backup deadline agenda minutes draft review comment change request update schedule travel
office phone address contract customer supplier order delivery price amount total account bank payment quarter year
month plan goal risk issue test build branch merge deploy rollback incident alert monitor metric graph spike latency
memory cache index partition replica leader follower timeout retry queue batch stream window offset record field value
format reader writer codec snapshot archive restore migrate verify checksum length header block split merge sort filter
coffee lunch train station hotel flight ticket passport weather garden kitchen window door letter paper pencil music
concert museum theatre library novel chapter translation language grammar dictionary history science physics chemistry
biology experiment hypothesis measurement sample average variance regression forecast seasonal holiday summer winter
autumn spring mountain river valley island harbour bridge tunnel motorway bicycle engine battery charger cable adapter
keyboard monitor printer scanner projector microphone recording transcript attachment signature greeting farewell
apology invitation reminder confirmation cancellation reservation subscription membership donation volunteer community
neighbour landlord electricity insurance pension mortgage interest inflation currency exchange market portfolio
dividend shareholder auditor regulator compliance privacy encryption certificate password credential permission
directory symlink terminal compiler debugger profiler benchmark throughput bottleneck concurrency deadlock semaphore
iterator generator closure recursion polymorphism inheritance interface abstraction documentation specification
requirement stakeholder milestone retrospective standup backlog estimate velocity onboarding interview candidate offer`)
)
