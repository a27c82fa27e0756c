"""The grammar of bus queries.

`<name>` expands to a random production of that name, `(a|b|)` to one branch, and `{SLOT}` is filled by generate.py.
A production written several times is that much likelier.
"""

GRAMMAR = {
    # -- where -------------------------------------------------------------------------------------------------------
    "route": [
        "from {SRC} to {DEST}", "from {SRC} to {DEST}", "from {SRC} to {DEST}", "from {SRC} to {DEST}",
        "{SRC} to {DEST}", "{SRC} to {DEST}", "{SRC} to {DEST}", "{SRC} to {DEST}", "{SRC} {DEST}", "{SRC} {DEST}",
        "{SRC} {DEST}", "{SRC} {DEST}", "{SRC} {DEST}", "to {DEST} from {SRC}", "to {DEST} from {SRC}",
        "{DEST} from {SRC}", "for {DEST} from {SRC}", "(between|betwn|in between) {SRC} and {DEST}",
        "{SRC} <arrow> {DEST}", "{SRC} <arrow> {DEST}", "<leave> {SRC} (for|to|towards) {DEST}",
        "<leave> {SRC} and (going to|reaching|arriving in) {DEST}", "(to|for|towards) {DEST} <leave> {SRC}",
        "from {SRC} <heading> {DEST}", "<heading> {DEST} from {SRC}",
        "{SRC} (till|until|upto|up to|towards|se) {DEST}", "<reach> {DEST} from {SRC}",
        "<origin> {SRC}(,|;|) <target> {DEST}", "<origin> {SRC}(,|;|) <target> {DEST}",
        "<target> {DEST}(,|;|) <origin> {SRC}", "from: {SRC} to: {DEST}", "out of {SRC} to {DEST}",
        "ex {SRC} to {DEST}", "via highway {SRC} to {DEST}", "from {SRC}, to {DEST}", "{SRC}, {DEST}",
    ],
    "arrow": [
        "-", "-", "->", "->", "-->", "=>", ">", "/", "→", "–", "2", "&",
    ],
    "leave": [
        "leaving", "leaving from", "departing", "departing from", "starting from", "starting at", "starting in",
        "that leave", "that leaves", "which departs", "that starts from", "out of", "originating in",
        "setting off from", "beginning at", "which leaves from", "going out of",
    ],
    "heading": [
        "going to", "heading to", "headed to", "headed for", "bound for", "travelling to", "traveling to",
        "that goes to", "which goes to", "that go to", "going towards", "running to", "to go to", "moving to",
    ],
    "reach": [
        "reach", "reaching", "to reach", "that reaches", "which reach", "get to", "arriving in", "arriving at",
        "to get to", "that arrives in", "to visit", "reach in", "ending at", "ending in",
    ],
    "origin": [
        "source", "source:", "src", "origin", "origin:", "source is", "starting city", "start", "start:",
        "starting point", "departure city", "start from", "origin city is", "start at", "leaving from", "from",
    ],
    "target": [
        "destination", "destination:", "dest", "dest:", "destination is", "end", "end:", "to", "arrival city",
        "going to", "end at", "final destination", "finish", "ending", "arrive", "my destination is",
    ],
    "to": [
        "to {DEST}", "to {DEST}", "for {DEST}", "towards {DEST}", "<heading> {DEST}", "<reach> {DEST}",
        "destination {DEST}", "destination (is|:) {DEST}", "{DEST} bus", "{DEST} trip", "{DEST} (side|route)",
    ],
    "from": [
        "from {SRC}", "from {SRC}", "<leave> {SRC}", "<leave> {SRC}", "source {SRC}", "ex {SRC}", "starting {SRC}",
        "departing {SRC}", "leaving {SRC}",
    ],
    "where": [
        "<route>", "<route>", "<route>", "<route>", "<route>", "<route>", "<route>", "<to>", "<from>",
    ],
    # -- when --------------------------------------------------------------------------------------------------------
    "date": [
        "{DATE}", "{DATE}", "{DATE}", "on {DATE}", "on {DATE}", "on {DATE}", "for {DATE}", "on the {DAY}",
        "the {DAY}", "on {DAY}", "date {DATE}", "date: {DATE}", "date is {DATE}", "(travel|journey) date {DATE}",
        "travelling on {DATE}", "dated {DATE}", "(leaving|departing|travelling|going) {DATE}", "by {DATE}",
        "(any time|sometime) (on|) {DATE}", "doj {DATE}", "from {DATE}", "starting {DATE}",
    ],
    "time": [
        "{TIME}", "{TIME}", "at {CLOCK}", "at {CLOCK}", "at {CLOCK}", "<near> {CLOCK}", "<near> {CLOCK}",
        "<near> {CLOCK}", "in the {PART}", "at {PART}", "in the {PART}", "(by|before|after|until) {PART}",
        "(departing|leaving|starting|arriving|reaching) <near> {CLOCK}", "departure {TIME}", "time {TIME}",
        "(departure|pickup|start) time {CLOCK}", "(sometime|anytime) <near> {TIME}", "{PART} (time|only|itself)",
    ],
    "near": [
        "after", "before", "around", "by", "at", "about", "near", "post", "till", "past", "approx", "from",
        "not later than", "no later than", "latest by", "just after", "at around", "at about", "close to",
    ],
    "moment": [
        "{DATE} {PART}", "{DATE} {PART}", "{DATE} {PART}", "{DATE} {TIME}", "{DATE} {TIME}", "{DATE} at {CLOCK}",
        "{TIME} {DATE}", "{TIME} on {DATE}", "{DATE}, {TIME}", "{DATE} <near> {CLOCK}", "{DATE} in the {PART}",
        "on {DATE} at {CLOCK}", "on {DATE} {TIME}", "on the {PART} of {DATE}", "{CLOCK} {DATE}",
        "at {CLOCK} on {DATE}", "at {CLOCK} {DATE}", "<near> {CLOCK} {DATE}", "for {DATE} {PART}", "{DATE} or {DATE}",
        "{DATE}, <near> {CLOCK}", "on {DATE} <near> {CLOCK}", "{TIME}, {DATE}",
    ],
    "when": [
        "<date>", "<date>", "<date>", "<time>", "<time>", "<moment>", "<moment>",
    ],
    # -- what --------------------------------------------------------------------------------------------------------
    "kind": [
        "{BUS} {SEAT}", "{BUS} {SEAT}", "{BUS} {SEAT} <bus>", "{BUS} {SEAT} <bus>", "{BUS} <bus>", "{BUS} <bus>",
        "{SEAT} <bus>", "{SEAT} <bus>", "{SEAT} {BUS} <bus>", "{SEAT} {BUS}", "{BUS}", "{SEAT}", "{SEAT}, {BUS}",
        "{BUS}, {SEAT}", "{SEAT} in {BUS} <bus>", "{SEAT} in (a|an|the) {BUS} <bus>", "{SEAT} on a {BUS} <bus>",
        "{BUS} <bus> with {SEAT}", "{BUS} <bus>, {SEAT}", "{BUS} and {SEAT}", "{BUS} <bus> ({SEAT})",
        "{SEAT} or {SEAT}", "{BUS} or {BUS} <bus>", "{SEAT}, not {SEAT}",
    ],
    "bus": [
        "bus", "bus", "bus", "bus", "buses", "buses", "coach", "coaches", "service", "ticket", "tickets", "one",
        "bus ticket", "bus tickets", "option", "options", "vehicle", "type bus", "busses", "seats", "category",
    ],
    "any": [
        "bus", "buses", "a bus", "any bus", "any buses", "the bus", "coach", "a coach", "tickets", "a ticket",
        "a seat", "seats", "{N} seats", "{N} tickets", "ticket", "bus tickets", "some buses", "all buses",
        "<adj> bus", "the <adj> bus", "<adj> buses", "a <adj> bus", "<adj> ticket", "{N} <adj> seats", "bus seat",
    ],
    "adj": [
        "cheap", "cheapest", "fastest", "direct", "good", "best", "earliest", "first", "last", "next", "available",
        "comfortable", "quick", "affordable", "low cost", "budget", "top rated", "nonstop", "night service", "clean",
        "government", "private", "safe", "any", "reliable", "quickest", "decent", "return", "one way", "shortest",
    ],
    "product": [
        "<any>", "<any>", "<any>", "<kind>", "<kind>", "(a|an|the|any|some|) <kind>", "(a|an|the|any|) <kind>",
        "{OPERATOR} <bus>", "{OPERATOR} <kind>", "<adj> <kind>", "the {TIME} <bus>", "(a|) {OPERATOR} <bus>",
        "{N} <kind>", "the {CLOCK} {OPERATOR} <bus>", "{OPERATOR}", "(a|the) {PART} <bus>",
    ],
    "operator": [
        "{OPERATOR}", "{OPERATOR} <bus>", "{OPERATOR} <bus>", "by {OPX}", "with {OPX}", "on {OPX}", "via {OPERATOR}",
        "operated by {OPX}", "run by {OPX}", "operator {OPX}", "operator: {OPX}", "travels {OPERATOR}", "using {OPX}",
        "in {OPERATOR}", "only {OPERATOR}", "through {OPERATOR}", "from operator {OPX}", "(prefer|preferably) {OPX}",
        "{OPERATOR} (only|preferred|please)", "of {OPERATOR}", "bus company {OPX}", "(provided|offered) by {OPX}",
    ],
    # -- stops -------------------------------------------------------------------------------------------------------
    "boarding": [
        "(boarding|board|embark|boarding is) (at|from|near|in) {BP}", "(boarding|board) (at|from) {BP}",
        "boarding point( is|:|) {BP}", "boarding {BP}", "boarding stop {BP}",
        "(i will|will|can|to|i'll) board (at|from|near) {BP}", "<pickup> (at|from|near|in|point|point is|:|) {BP}",
        "<pickup> (at|from) {BP}", "<pickup> (at|from) {BP}", "(get|getting|hop|climb) (on|in) (at|from|near) {BP}",
        "{BP} (boarding|pickup|pick up|boarding point)",
        "(catch|catching|take) (it|the bus|) (at|from|near) {BP} stop", "with boarding (at|from) {BP}",
        "pick (me|us|him|her|my parents) up (at|from|near) {BP}", "pickup point near {BP}",
    ],
    "pickup": [
        "pickup", "pick up", "pick-up", "pick me", "picking up", "pick us up", "pickup location", "pick me up",
        "with pickup", "pickup stop", "want pickup", "pick", "collect me",
    ],
    "dropping": [
        "(dropping|drop|deboard|alight|alighting|drop off|drop-off|dropoff) (at|in|near|to) {DP}",
        "(dropping|drop|drop off) (at|near) {DP}",
        "(dropping|drop|drop off|dropoff|drop-off) (point|location|stop)( is|:|) {DP}",
        "drop (me|us|me off|us off|him|my parents) (at|near|in) {DP}",
        "(get|getting|hop) (off|down|out) (at|near|in) {DP}", "(dropping|drop) {DP}",
        "{DP} (drop|dropping|drop off|dropping point)", "with (drop|dropping|drop off) (at|near) {DP}",
        "(i will|will|want to|to|i'll|need to) (get down|alight|get off|deboard|step out) (at|near|in) {DP}",
        "last stop {DP}", "that (drops|drop) (me|) (at|near) {DP}", "and drop (at|near|) {DP}",
    ],
    "stops": [
        "<boarding>", "<boarding>", "<dropping>", "<dropping>", "<boarding>(,| and|) <dropping>",
        "<dropping>(,| and|) <boarding>",
        "(pickup|pick up|boarding|board) {BP}(,| and|) (drop|dropping|drop off) {DP}", "boarding {BP} dropping {DP}",
        "board at {BP} and (alight|get down|get off|deboard) at {DP}",
    ],
    # -- small talk around it ----------------------------------------------------------------------------------------
    "opener": [
        "", "", "", "", "", "", "book", "book me", "find", "find me", "show", "show me", "search", "search for",
        "get me", "get", "i need", "i want", "need", "want", "looking for", "i am looking for", "i'm looking for",
        "please book", "pls find", "can you find", "can you book me", "could you get me", "can i get", "is there",
        "are there", "any", "do you have", "what about", "list", "list all", "give me", "check", "check for",
        "i would like to book", "i'd like", "we need", "we want to book", "reserve", "hi, i need", "hello, show me",
        "hey find", "help me find", "help me book", "kindly book", "display", "fetch", "suggest", "tell me about",
        "bus", "bus ticket", "tickets", "ticket for", "buses", "bus from", "travel", "trip", "journey", "go",
        "let me know", "which are", "what are the", "how about", "compare", "hey can u find me", "yo", "urgent",
        "book {N} tickets", "book {N} seats", "{N} tickets", "{N} seats", "{N} passengers", "fare for", "price of",
        "price for", "schedule of", "timings for", "availability of", "what is the fare of", "how much is",
        "i have to book", "planning to book", "try", "now", "ok", "actually", "sorry,", "no,", "change it to",
        "cancel that,", "instead", "and", "also", "for my family,", "my friend wants", "need urgently",
    ],
    "closer": [
        "", "", "", "", "", "", "", "please", "pls", "plz", "thanks", "thank you", "asap", "for {N} people",
        "for {N} adults", "for {N}", "{N} seats", "{N} tickets", "under {MONEY}", "below {MONEY}", "within {MONEY}",
        "for two", "for me", "for my family", "if available", "if possible", "one way", "with wifi", "with blanket",
        "with charging point", "cheapest", "lowest fare", "low price", "best price", "and show the fare", "only",
        "with water bottle", "with live tracking", "with good rating", "for ladies", "round trip", "return",
        "with my wife", "with {N} bags", "is it available", "available", "right now", "immediately", "quickly",
        "at the lowest price", "which one is best", "how long does it take", "i need to be there", "{N} passengers",
    ],
    "aside": [
        "{N} seats", "{N} tickets", "for {N}", "cheapest", "direct", "non stop", "under {MONEY}", "one way",
        "with wifi", "with toilet", "good rating", "{N} adults", "{N} pax", "budget {MONEY}", "max {MONEY}",
        "best rated", "economy", "with charging", "female passenger", "for my mother", "{N} people", "we are {N}",
        "no stops", "fastest",
    ],
    "go": [
        "go", "travel", "get", "come", "move", "ride", "journey", "head", "take a bus", "make a trip", "commute",
    ],
    "wish": [
        "i want to", "i need to", "i have to", "we want to", "i'd like to", "i would like to", "want to", "need to",
        "we have to", "planning to", "i am planning to", "i plan to", "how do i", "how can i", "can i", "i must",
        "gotta", "i wish to", "how to", "my friend wants to", "trying to", "she needs to", "we are hoping to",
        "wanna",
    ],
    "tail": [
        "", "", "<when>", "<when>", "<kind>", "<operator>", "<stops>", "<when>, <kind>", "<kind> <when>",
        "<when> <stops>", "<operator> <when>", "in (a|an|) <kind>", "by <kind>", "in {BUS} {SEAT}",
        "on (a|an) <kind>", "by {BUS} <bus>",
    ],
    # -- whole sentences ---------------------------------------------------------------------------------------------
    "sentence": [
        "<wish> <go> <where> <tail>", "<wish> <go> <where> <tail>", "<wish> <go> <where> <when>",
        "<wish> <go> to {DEST} <tail>",
        "<wish> (reach|be in|get to|be at|arrive in|arrive at|visit) {DEST} (by|before|at|) {TIME} "
            "<date>(,|) (starting|leaving|coming) from {SRC}",
        "<wish> (reach|be in|get to|arrive in) {DEST} (by|before|on|) <when>",
        "<wish> (reach|get to) {DEST} from {SRC} (by|before) {CLOCK}",
        "<wish> (leave|start from|depart from|depart|set out from) {SRC} (for|towards|to) {DEST} <tail>",
        "<wish> leave {SRC} <when>",
        "(i am|i'm|we are|we're) (in|at|from|based in|staying in) {SRC}(.|,| and) "
            "(need|want|have|wish|planning) to (go to|reach|get to|travel to|visit) {DEST} <tail>",
        "(i am|i'm|we are|we're) (travelling|going|traveling|heading|moving) (to {DEST}|from {SRC} to "
            "{DEST}|to {DEST} from {SRC}) <tail>",
        "(i am|i'm|we are) (travelling|going|heading) to {DEST} <when> from {SRC}(,|) (any|need|want|looking "
            "for|find) <product>",
        "we are {N} (people|persons|friends|adults|members|passengers) (going|travelling|) <route> <tail>",
        "(is|are) there (any|a|an|some|) <product> <where> <tail>",
        "(is|are) there (any|a|an|) <product> <where> <when>",
        "(any|are there|is there|got any) <product> <leave> {SRC} (for|to|towards) {DEST} <tail>",
        "do you have <product> <where> <tail>",
        "(does|do|will|can) {OPX} (run|operate|go|have buses|have a bus|ply|offer service|travel) <where> "
            "<tail>",
        "(does|do) {OPX} (run|operate|go|have) <product> <where> <when>",
        "(which|what) {OPERATOR} <bus> (go|run|reach|leave|depart|operate) <where> <tail>",
        "(which|what) <bus> (go|goes|run|runs|leave|leaves|depart|reach|ply) <where> <when>",
        "(which|what) <kind> (goes|go|run|is available|are available) <where> <tail>",
        "(which|what) operators (run|operate|go|ply) <where> <tail>",
        "(who|which company) (runs|operates) <product> <where>",
        "(what time|when|at what time) (is|does|do|will) (the|) (first|last|next|earliest|) (bus|{OPERATOR} "
            "bus|{BUS} bus|coach) <where> (leave|start|depart|go|arrive|)",
        "(what time|when) is the (first|last|next|earliest) <product> <where>",
        "when (does|will) the bus (leave|depart from|start from) {SRC} (for|to) {DEST}",
        "(how much|what) (is|does|are) (a|the|) (ticket|fare|price|cost|bus ticket|seat) <where> "
            "(with|on|by|in) {OPX}",
        "(how much|what) (is|for) (a|the|) (ticket|fare|price|cost|seat) (for|in|of) (a|an|the|) <kind> <where>",
        "how (long|many hours) (does it take|is the journey|is the bus ride) <route>",
        "how many <product> (are there|run|go) <where> <when>",
        "can i (board|get on|hop on|catch the bus|get the bus) (at|from|near) {BP} (for|on) the {CLOCK} "
            "<bus> (to|for|going to) {DEST}",
        "can i (board|get on|be picked up) (at|from|near) {BP} (if i am going|when going|for|on the way) "
            "(to|) {DEST} <tail>",
        "(can|could|will) (you|the bus|they|it) (pick me up|pick us up|pick me) (from|at|near) {BP} "
            "(on|for|) (the|) {TIME} <bus> to {DEST}",
        "(can|could|will) (you|the bus|they|it) drop (me|us) (at|near|in) {DP} (on|in|) (the|) <product> "
            "<route>",
        "pick me up (from|at|near) {BP} (in the {PART}|at {CLOCK}|<date>)(,|) (destination|drop|going to|to) "
            "{DEST}",
        "pick me up (from|at|near) {BP} and drop me (at|near|in) {DP}(,|) <route> <tail>",
        "my (boarding|pickup) point is {BP} <tail>",
        "my (boarding|pickup|pick up) (point|location|stop) is {BP} and (i|we) (want|need|have) to (go "
            "to|reach|travel to) {DEST} <when>",
        "my (dropping|drop|drop off) (point|location|stop) is {DP}(,| and) <route> <tail>",
        "<wish> (get off|get down|alight|deboard|be dropped) (at|near|in) {DP}(,| -|) <route> <tail>",
        "<wish> (board|get on|get in|be picked up) (at|from|near) {BP}(,| and|) (get off|get "
            "down|alight|drop) (at|near) {DP}(,|) <route>",
        "drop (me|us) (at|near|in) {DP} (when|while|,) (coming|going|travelling) <route>",
        "<boarding>(,|) <route>(,|) <tail>", "<stops>(,|) <route>(,|) <when>",
        "bus (for|to) {DEST} with <stops> <tail>", "<opener> <product> (for|to) {DEST} (with|,|) <boarding> <when>",
        "<route> with <stops> <when>", "<opener> <product> <where> <tail>", "<opener> <product> <where> <when>",
        "<opener> <product> <where> <when>", "<opener> <product> <route>",
        "<opener> <product> <route> <when> (with|by|on|in) {OPX}", "<opener> <seat> on the {CLOCK} <bus> <where>",
        "<opener> <seat> on {OPX} <where> <when>",
        "<opener> <seat> (in|on) (a|an|the|) (bus|{BUS} bus|{OPERATOR} bus) <where> <tail>",
        "<opener> <kind> on {OPX} <where>", "<opener> <product> with {SEAT} <where> <when>",
        "{OPERATOR} {BUS} {SEAT} <route> <when>", "{OPERATOR} {BUS} <route> <when>", "{OPERATOR} <route> <when>",
        "{OPERATOR} {BUS} <route>", "{OPERATOR} {SEAT} <route> <when>", "{BUS} {SEAT} bus <route> <when>",
        "{BUS} {SEAT} <route> <when>", "{BUS} {SEAT} bus <route> {DATE}", "{BUS} <route> {DATE}",
        "{OPERATOR} <route> {DATE}", "<route> {OPERATOR} {BUS} {SEAT}", "<route> {BUS} {SEAT} <when>",
        "<route> {OPERATOR} {CLOCK}", "{DATE} <route> {BUS}", "{DATE} <route> {SEAT}", "{CLOCK} <route>",
        "<route> <when>", "<route> <when>", "<route>", "<route> <kind>", "<route> <operator>", "<route> by {OPX}",
        "{DEST} {DATE}", "{DEST} trip from {SRC} <when> <tail>",
        "{OPERATOR} bus (timings|timing|schedule|fare|fares|route|price|tickets|time table) <route>",
        "bus (timings|timing|schedule|fare|route|time table) <route> <when>", "<adj> <product> <route> <when>",
        "(leaving|departing|starting from|starting) {SRC} (for|to) {DEST} <when>(,|) <adj> "
            "(seat|ticket|bus|one)",
        "buses (departing|leaving|starting from|out of|from) {SRC} <when>",
        "buses (arriving in|reaching|going to|to|into) {DEST} <when>", "<product> (departing|leaving) {SRC} <when>",
        "(which|what) <product> (reach|reaches|arrive in|get to|arrives at) {DEST} <near> {CLOCK} <date>",
        "<origin> {SRC}, <target> {DEST}, date {DATE}, {SEAT}",
        "<origin> {SRC} <target> {DEST} (date|on|doj|) {DATE} (time|at|) {CLOCK} {BUS}",
        "<route>(,|;) <when>(,|;) <kind>(,|;) <operator>", "<route>, <kind>, <when>", "<when>(,|) <route>",
        "<when> i (need|want) <product> <route>",
        "(on|for) {DATE} (i need|find|book|show|get me|we want) <product> <route>", "<kind>(,|) <route>(,|) <when>",
        "(book|find|get|show) (me|us|) (a|an|) <kind> <where> <when> (for|with|under) (two|{N}|{N} people|my "
            "family|{MONEY})",
        "<kind> for {DATE} <route>", "<kind> <when> for <route>",
        "(forget|cancel|ignore|drop) (my|the|that|) (earlier|previous|last|old|) "
            "(search|booking|query|one)(,|) (find|show|book|now find) <product> <where> <tail>",
        "(show|list|find|any) <kind> <when> (for|on|) {SRC} <arrow> {DEST}", "travel <route> on {DAY}",
        "i (missed|lost) my bus(,|) (need|find|show|book) <product> <where> <when>",
        "(my|our) (bus|trip|journey|travel) is <route> <when>",
        "it's (urgent|an emergency)(,|) <wish> <go> <where> <when>",
        "is the {OPERATOR} (bus|one|) <route> <when> a {SEAT} or a {SEAT}",
        "is {OPX} (good|available|running|ok) <where> <when>",
        "(do|does) any <product> (go|run|stop|leave) <where> <when>",
        "i (prefer|want|like|need) {OPX} <where> <tail>", "i (prefer|want|like|need) <kind>(,|) <where> <when>",
        "(return|round trip|one way) (ticket|tickets|) <route> <when>",
        "hi(,|) <route> <when> (any|is any|do you have) <kind>", "tickets {DATE} {PART} <route> {BUS}",
        "<product> <when> <route>",
    ],
    "seat": [
        "(a|the|one|any|{N}|) {SEAT}", "(a|one|) {SEAT}", "{N} seats",
    ],
    # Answers to "where to?" and "which kind?".
    "short": [
        "{DEST}", "to {DEST}", "from {SRC}", "<where>", "<when>", "<kind>", "<operator>", "<stops>", "{DATE}",
        "{TIME}", "{SEAT}", "{BUS}", "{OPERATOR}", "<date>, <kind>", "<kind> <when>", "<operator> <kind>",
        "<product>",
    ],
    # Remarks that say nothing about the journey's slots.
    "clause": [
        "my (mother|father|friend|boss|sister|brother|grandmother|cousin) is (sick|waiting|getting "
            "married|not well|visiting)",
        "i (lost|forgot|left) my (wallet|phone|ticket|bag|charger)",
        "we (have|got) (a wedding|an exam|a meeting|a conference|an interview|{N} kids|a baby)",
        "i (get|feel) (sick|dizzy|tired) (easily|on long trips|in buses|)",
        "(the train|my flight|the earlier bus) (was|got) (cancelled|delayed|full)",
        "(money|price|budget|cost) is not (a problem|an issue|important)",
        "i (do not|don't) (mind|care about|want) (the price|extra stops|changing buses|waiting)",
        "(it is|it's) (raining|very hot|urgent|for work|for a holiday|my first trip|too expensive)",
        "(my|our) budget is {MONEY}", "(i have|with) (heavy|lots of|two|{N}) (bags|luggage|suitcases|boxes)",
        "(send|share) the (link|details|ticket) (to my phone|on whatsapp|by email)",
        "(tell|let) me (know|) the (fare|price|cheapest|duration|seat numbers|rating)",
        "(need|want) (a receipt|an invoice|a refund|good reviews|clean toilets)",
        "last time (it|the bus) was (late|dirty|cold|great|crowded)",
        "(hope|i hope) (it|there) is (available|wifi|space|not full|still open)",
        "(what|which) (do you recommend|is better|would be cheaper|takes less time)",
        "i am (alone|a student|a senior citizen|with my kids|in a hurry)",
    ],
    # Queries about the service itself: nothing to find, so that not every word looks like an entity.
    "chatter": [
        "(hi|hello|hey|good day)( there|)", "(thanks|thank you)( so much| a lot|)",
        "(cancel|modify|reschedule|check) my (ticket|booking|reservation)",
        "what is (the|your) (refund|cancellation|baggage|luggage) policy",
        "(where|how) can i (see|find|check|print) my (ticket|booking|pnr)", "(track|where is) my bus",
        "how (do|can) i (pay|get a refund|contact support|talk to an agent)", "(the|my) bus is late",
        "(talk|speak) to (an agent|customer care|support)",
        "(do you|can i) (accept|pay by|pay with|use) (upi|card|cash|paypal)",
        "(show|list) (my|all my) (bookings|trips|tickets)", "i want to (complain|book a bus|cancel)",
        "(find|book|show) (me|) (a|) <adj> bus",
        "is (food|wifi|water|blanket|charging) (available|provided) (on|in) the bus",
        "can i (bring|carry) (a pet|my dog|{N} bags|a bicycle)",
        "(apply|use|add) (coupon|promo code|offer) (save{N}|first{N}|)", "how many seats are left",
        "{N} tickets please",
    ],
}
