"""Word lists for the query generator: what people type when they look for a bus."""


def _items(text):
    return [" ".join(part.split()) for part in text.split(",") if part.strip()]


INDIAN_CITIES = _items("""
Mumbai, Delhi, New Delhi, Bangalore, Bengaluru, Hyderabad, Ahmedabad, Chennai, Kolkata, Surat, Pune, Jaipur, Lucknow,
Kanpur, Nagpur, Indore, Thane, Bhopal, Visakhapatnam, Vizag, Patna, Vadodara, Baroda, Ghaziabad, Ludhiana, Agra,
Nashik, Nasik, Faridabad, Meerut, Rajkot, Kalyan, Vasai, Varanasi, Srinagar, Aurangabad, Dhanbad, Amritsar, Navi
Mumbai, Allahabad, Prayagraj, Ranchi, Howrah, Coimbatore, Jabalpur, Gwalior, Vijayawada, Jodhpur, Madurai, Raipur,
Kota, Guwahati, Chandigarh, Solapur, Hubli, Hubballi, Dharwad, Bareilly, Moradabad, Mysore, Mysuru, Gurgaon, Gurugram,
Aligarh, Jalandhar, Tiruchirappalli, Trichy, Bhubaneswar, Salem, Mangalore, Mangaluru, Thiruvananthapuram, Trivandrum,
Bhiwandi, Saharanpur, Guntur, Amravati, Bikaner, Noida, Greater Noida, Jamshedpur, Bhilai, Cuttack, Firozabad, Kochi,
Cochin, Ernakulam, Nellore, Bhavnagar, Dehradun, Durgapur, Asansol, Rourkela, Nanded, Kolhapur, Ajmer, Akola,
Gulbarga, Kalaburagi, Jamnagar, Ujjain, Loni, Siliguri, Ulhasnagar, Jammu, Sangli, Belgaum, Belagavi, Tirunelveli,
Malegaon, Gaya, Jalgaon, Udaipur, Davanagere, Kozhikode, Calicut, Kurnool, Bokaro, Rajahmundry, Bellary, Ballari,
Patiala, Agartala, Muzaffarnagar, Bhatpara, Panihati, Dhule, Rohtak, Korba, Bhilwara, Brahmapur, Muzaffarpur,
Ahmednagar, Mathura, Kollam, Avadi, Kadapa, Cuddapah, Sambalpur, Bilaspur, Shahjahanpur, Satara, Bijapur, Vijayapura,
Rampur, Shivamogga, Shimoga, Chandrapur, Junagadh, Thrissur, Trichur, Alwar, Bardhaman, Kakinada, Nizamabad, Parbhani,
Tumkur, Tumakuru, Khammam, Panipat, Darbhanga, Aizawl, Dewas, Ichalkaranji, Karnal, Bathinda, Jalna, Eluru, Kirari,
Barasat, Purnia, Satna, Mau, Sonipat, Farrukhabad, Sagar, Imphal, Anantapur, Anantapuram, Etawah, Ambernath,
Bharatpur, Begusarai, Gandhidham, Puducherry, Pondicherry, Pondy, Sikar, Thoothukudi, Tuticorin, Rewa, Mirzapur,
Raichur, Pali, Vizianagaram, Katihar, Haridwar, Nadiad, Secunderabad, Thanjavur, Tanjore, Bulandshahr, Rishikesh,
Sambhal, Amroha, Bidar, Munger, Panchkula, Burhanpur, Kharagpur, Dindigul, Gandhinagar, Hospet, Hosapete, Ongole,
Deoghar, Chapra, Puri, Haldia, Khandwa, Nandyal, Morena, Anand, Bhind, Madhyamgram, Bhiwani, Ambala, Morbi, Fatehpur,
Rae Bareli, Mahbubnagar, Chittoor, Machilipatnam, Orai, Bahraich, Vellore, Mahesana, Mehsana, Raiganj, Sirsa, Danapur,
Guna, Jaunpur, Panvel, Shivpuri, Unnao, Alappuzha, Alleppey, Kottayam, Palakkad, Palghat, Kannur, Cannanore,
Kasaragod, Malappuram, Wayanad, Munnar, Thekkady, Varkala, Guruvayur, Sabarimala, Pathanamthitta, Idukki, Tirupati,
Tirumala, Srikakulam, Adoni, Hindupur, Proddatur, Madanapalle, Tenali, Bhimavaram, Amaravati, Warangal, Karimnagar,
Ramagundam, Adilabad, Suryapet, Miryalaguda, Nalgonda, Siddipet, Zaheerabad, Ooty, Kodaikanal, Yercaud, Coonoor,
Hosur, Krishnagiri, Dharmapuri, Erode, Tiruppur, Karur, Namakkal, Pollachi, Kumbakonam, Chidambaram, Nagapattinam,
Velankanni, Rameswaram, Ramanathapuram, Kanyakumari, Nagercoil, Sivakasi, Virudhunagar, Theni, Cumbum, Pudukkottai,
Cuddalore, Villupuram, Tiruvannamalai, Kanchipuram, Mahabalipuram, Goa, Panaji, Panjim, Margao, Madgaon, Mapusa,
Vasco, Calangute, Ponda, Karwar, Gokarna, Murudeshwar, Kundapura, Udupi, Manipal, Dharmasthala, Subramanya, Kukke,
Chikmagalur, Chikkamagaluru, Coorg, Madikeri, Kushalnagar, Sakleshpur, Mandya, Chitradurga, Hampi, Koppal, Gadag,
Bagalkot, Badami, Haveri, Sirsi, Dandeli, Yadgir, Shirdi, Lonavala, Khandala, Mahabaleshwar, Panchgani, Alibaug,
Ratnagiri, Sawantwadi, Chiplun, Sindhudurg, Pandharpur, Osmanabad, Beed, Hingoli, Washim, Yavatmal, Wardha, Gondia,
Bhandara, Gadchiroli, Buldhana, Bhusaval, Nandurbar, Daman, Silvassa, Vapi, Valsad, Navsari, Bharuch, Ankleshwar,
Godhra, Dahod, Palanpur, Bhuj, Dwarka, Somnath, Porbandar, Veraval, Diu, Surendranagar, Mundra, Mount Abu Road,
Jaisalmer, Pushkar, Nathdwara, Chittorgarh, Banswara, Dungarpur, Sawai Madhopur, Bundi, Jhunjhunu, Churu, Nagaur,
Barmer, Sri Ganganagar, Hanumangarh, Tonk, Dausa, Neemrana, Manesar, Rewari, Hisar, Jind, Kaithal, Kurukshetra,
Yamunanagar, Palwal, Shimla, Manali, Kullu, Dharamshala, Dharamsala, McLeod Ganj, Dalhousie, Palampur, Kasol, Mandi,
Solan, Kasauli, Chamba, Bir, Una, Pathankot, Hoshiarpur, Gurdaspur, Moga, Firozpur, Katra, Udhampur, Leh, Kargil,
Gulmarg, Pahalgam, Anantnag, Baramulla, Mussoorie, Nainital, Haldwani, Kathgodam, Rudrapur, Almora, Ranikhet,
Mukteshwar, Joshimath, Badrinath, Kedarnath, Roorkee, Kashipur, Ayodhya, Faizabad, Gorakhpur, Basti, Gonda, Sultanpur,
Azamgarh, Ballia, Ghazipur, Sitapur, Lakhimpur, Hardoi, Pilibhit, Budaun, Etah, Hathras, Vrindavan, Banda, Chitrakoot,
Lalitpur, Mahoba, Khajuraho, Orchha, Chhatarpur, Damoh, Vidisha, Sehore, Hoshangabad, Itarsi, Betul, Chhindwara,
Seoni, Mandla, Balaghat, Shahdol, Singrauli, Katni, Omkareshwar, Khargone, Dhar, Mandsaur, Neemuch, Jagdalpur, Durg,
Rajnandgaon, Raigarh, Ambikapur, Dhamtari, Hazaribagh, Giridih, Dumka, Ramgarh, Chaibasa, Siwan, Gopalganj, Motihari,
Bettiah, Sitamarhi, Madhubani, Saharsa, Araria, Kishanganj, Nalanda, Rajgir, Bodh Gaya, Nawada, Ara, Buxar, Sasaram,
Bhabua, Digha, Mandarmani, Bakkhali, Kolaghat, Bankura, Purulia, Malda, Berhampore, Krishnanagar, Bolpur,
Shantiniketan, Cooch Behar, Alipurduar, Jalpaiguri, Darjeeling, Kalimpong, Kurseong, Gangtok, Namchi, Pelling,
Shillong, Cherrapunji, Tura, Dibrugarh, Jorhat, Nagaon, Silchar, Tinsukia, Bongaigaon, Kohima, Dimapur, Itanagar,
Tawang, Bomdila, Ziro, Paradip, Balasore, Baripada, Jharsuguda, Angul, Koraput, Jeypore, Rayagada, Konark, Berhampur,
Chilika, Bhadrak, Keonjhar, Hampi Road, Mantralayam, Srisailam, Bhadrachalam, Yanam, Tuni, Narsapur, Palakollu,
Chirala, Kavali, Gudur, Sullurpeta, Markapur, Kadiri, Dharmavaram, Tadipatri, Guntakal
""")

WORLD_CITIES = _items("""
London, Manchester, Birmingham, Leeds, Liverpool, Bristol, Glasgow, Edinburgh, Cardiff, Newcastle, Sheffield,
Nottingham, Oxford, Cambridge, Brighton, York, Bath, Southampton, Portsmouth, Plymouth, Exeter, Leicester, Coventry,
Reading, Norwich, Aberdeen, Dundee, Inverness, Belfast, Dublin, Cork, Galway, Limerick, Paris, Lyon, Marseille,
Toulouse, Nice, Nantes, Strasbourg, Montpellier, Bordeaux, Lille, Rennes, Grenoble, Dijon, Berlin, Hamburg, Munich,
Cologne, Frankfurt, Stuttgart, Dusseldorf, Leipzig, Dresden, Hanover, Nuremberg, Bremen, Heidelberg, Freiburg, Vienna,
Graz, Linz, Salzburg, Innsbruck, Zurich, Geneva, Basel, Bern, Lausanne, Lucerne, Rome, Milan, Naples, Turin, Florence,
Venice, Bologna, Verona, Genoa, Palermo, Pisa, Bari, Madrid, Barcelona, Valencia, Seville, Zaragoza, Malaga, Bilbao,
Granada, Cordoba, Toledo, San Sebastian, Lisbon, Faro, Coimbra, Braga, Amsterdam, Rotterdam, The Hague, Utrecht,
Eindhoven, Maastricht, Brussels, Antwerp, Ghent, Bruges, Liege, Luxembourg, Copenhagen, Aarhus, Odense, Oslo, Bergen,
Trondheim, Stavanger, Stockholm, Gothenburg, Malmo, Uppsala, Helsinki, Tampere, Turku, Tallinn, Riga, Vilnius, Kaunas,
Warsaw, Krakow, Gdansk, Wroclaw, Poznan, Lodz, Prague, Brno, Ostrava, Bratislava, Kosice, Budapest, Debrecen, Szeged,
Ljubljana, Maribor, Split, Dubrovnik, Zadar, Belgrade, Novi Sad, Sarajevo, Mostar, Podgorica, Tirana, Skopje, Sofia,
Plovdiv, Varna, Bucharest, Cluj, Brasov, Timisoara, Athens, Thessaloniki, Patras, Istanbul, Ankara, Izmir, Antalya,
Bursa, Kyiv, Lviv, Odessa, Minsk, Moscow, Saint Petersburg, Kazan, Sochi, Tbilisi, Yerevan, Baku, New York, New York
City, Boston, Washington, Washington DC, Philadelphia, Baltimore, Pittsburgh, Buffalo, Albany, Syracuse, Hartford,
Providence, Portland, Chicago, Detroit, Cleveland, Columbus, Cincinnati, Indianapolis, Milwaukee, Minneapolis, St
Louis, Kansas City, Nashville, Memphis, Atlanta, Charlotte, Raleigh, Richmond, Orlando, Miami, Tampa, Jacksonville,
Houston, Dallas, Austin, San Antonio, El Paso, New Orleans, Oklahoma City, Denver, Phoenix, Tucson, Las Vegas, Reno,
Salt Lake City, Los Angeles, San Diego, San Francisco, San Jose, Sacramento, Fresno, Oakland, Seattle, Spokane, Boise,
Eugene, Omaha, Des Moines, Madison, Ann Arbor, Atlantic City, Toronto, Montreal, Ottawa, Quebec City, Vancouver,
Calgary, Edmonton, Winnipeg, Halifax, Hamilton, Kingston, London Ontario, Victoria, Whistler, Banff, Kelowna, Mexico
City, Guadalajara, Monterrey, Puebla, Cancun, Oaxaca, Tijuana, Merida, Playa del Carmen, Guatemala City, San Salvador,
Managua, Panama City, Havana, Bogota, Medellin, Cali, Cartagena, Quito, Guayaquil, Cuenca, Lima, Cusco, Arequipa,
Puno, La Paz, Santa Cruz, Santiago, Valparaiso, Concepcion, Buenos Aires, Mendoza, Rosario, Bariloche, Montevideo,
Asuncion, Sao Paulo, Rio de Janeiro, Brasilia, Curitiba, Porto Alegre, Florianopolis, Salvador, Recife, Fortaleza,
Belo Horizonte, Cairo, Alexandria, Luxor, Hurghada, Tunis, Algiers, Casablanca, Rabat, Marrakech, Fez, Tangier, Dakar,
Accra, Kumasi, Lagos, Abuja, Ibadan, Nairobi, Mombasa, Kisumu, Kampala, Kigali, Dar es Salaam, Arusha, Lusaka, Harare,
Johannesburg, Pretoria, Durban, Bloemfontein, Port Elizabeth, Gaborone, Windhoek, Maputo, Addis Ababa, Dubai, Abu
Dhabi, Sharjah, Al Ain, Muscat, Doha, Riyadh, Jeddah, Mecca, Medina, Dammam, Kuwait City, Manama, Amman, Beirut,
Jerusalem, Tel Aviv, Haifa, Tehran, Isfahan, Shiraz, Karachi, Lahore, Islamabad, Rawalpindi, Multan, Peshawar,
Kathmandu, Pokhara, Lumbini, Chitwan, Birgunj, Biratnagar, Dhaka, Chittagong, Sylhet, Khulna, Rajshahi, Colombo,
Kandy, Galle, Jaffna, Thimphu, Paro, Phuntsholing, Yangon, Mandalay, Bangkok, Chiang Mai, Chiang Rai, Phuket, Krabi,
Pattaya, Hua Hin, Kuala Lumpur, Penang, Ipoh, Malacca, Johor Bahru, Singapore, Jakarta, Bandung, Yogyakarta, Surabaya,
Bali, Denpasar, Manila, Baguio, Cebu, Davao, Hanoi, Ho Chi Minh City, Saigon, Da Nang, Hue, Hoi An, Nha Trang, Da Lat,
Phnom Penh, Siem Reap, Vientiane, Luang Prabang, Hong Kong, Macau, Shenzhen, Guangzhou, Shanghai, Beijing, Xian,
Chengdu, Hangzhou, Suzhou, Nanjing, Wuhan, Taipei, Kaohsiung, Taichung, Seoul, Busan, Daegu, Incheon, Tokyo, Osaka,
Kyoto, Nagoya, Hiroshima, Fukuoka, Sapporo, Nara, Sendai, Kanazawa, Sydney, Melbourne, Brisbane, Canberra, Adelaide,
Perth, Darwin, Cairns, Gold Coast, Byron Bay, Hobart, Newcastle, Geelong, Auckland, Wellington, Christchurch,
Queenstown, Rotorua, Dunedin, Taupo
""")

CITY_NICKNAMES = _items("""
blr, bglr, blore, b'lore, bang, hyd, hyderbad, sec bad, chn, mas, che, mum, bom, bombay, del, dilli, cal, ccu,
calcutta, madras, amd, ahd, jpr, lko, cbe, kovai, mys, tvm, ekm, vskp, vja, bza, ixe, mlr, poona, gwl, goa city, nyc,
ny, la, sf, dc, philly, vegas, ldn, manc, bham, kl, hcmc, bkk, sg, syd, melb, ncr, ggn, chd, bbsr, ghy, nag, ngp,
indr, bpl, pny
""")

PLACE_PREFIXES = _items("""
New, San, Port, Fort, Santa, Mount, Saint, St, North, South, East, West, Old, Upper, Lower, El, Los, Las, La, Al,
Cape, Lake, Sri, Kuala, Big, Great, Nova, Ban, Ko, Bandar, Ciudad, Villa, Le, Bad, Sankt
""")
PLACE_SUFFIXES = _items("""
City, Town, Road, Beach, Nagar, Falls, Springs, Valley, Hills, Island, Junction, Creek, River, Harbour, Bay, Fort,
Khurd
""")

# Ordinary words that can stand in a name ("Salt Lake", "Grand Rapids") and mean nothing of the kind elsewhere.
PLAIN_WORDS = _items("""
Big, Green, Black, White, Red, Grand, Sweet, Bright, Rocky, Stone, Iron, Silver, Cedar, Oak, Palm, Eagle, Bear, Wolf,
Swan, Bell, Castle, Church, Market, Mill, Bridge, Water, Clear, Long, High, Broad, Cross, King, Queen, Bishop, Temple,
Sand, Moon, Sun, Star, Winter, Summer, Spring, Corn, Apple, Rose, Lily, Garden, Forest, Field, Meadow, Ridge, Point,
Crown, Battle, Peace, Liberty, Union, Hope, Faith, Mercy, Gold, Coal, Salt, Copper, Pine, Elm, Maple, Deer, Buffalo,
Fox, Hawk, Dove, Fish, Otter
""")

# Localities and stops; most cities share names like these, so the generator also invents its own.
LOCALITIES = _items("""
Majestic, Silk Board, Madiwala, Electronic City, Hebbal, Marathahalli, Koramangala, Indiranagar, Whitefield,
Yelahanka, Yeshwanthpur, Jayanagar, BTM Layout, HSR Layout, Bommanahalli, Hosa Road, Attibele, Anand Rao Circle,
Kalasipalyam, Shantinagar, Rajajinagar, Peenya, Jalahalli, Goraguntepalya, Tin Factory, KR Puram, Banashankari,
Nayandahalli, Kengeri, Domlur, Bellandur, Sarjapur Road, Bannerghatta Road, Mekhri Circle, Ameerpet, Kukatpally,
Miyapur, LB Nagar, Dilsukhnagar, Lakdikapul, Gachibowli, Hitech City, Madhapur, Mehdipatnam, Begumpet, Paradise,
Jubilee Bus Station, MGBS, Uppal, SR Nagar, Nizampet, Kondapur, Punjagutta, Koti, Aramghar, Shamshabad, Koyambedu,
CMBT, Guindy, Tambaram, Perungalathur, Vadapalani, Ashok Nagar, T Nagar, Adyar, Velachery, Kilambakkam, Porur,
Poonamallee, Maduravoyal, Sriperumbudur, Madhavaram, Egmore, Chrompet, Sholinganallur, Thiruvanmiyur, Anna Nagar,
Airport, Dadar, Borivali, Andheri, Bandra, Sion, Kurla, Chembur, Vashi, Nerul, Kharghar, Panvel Toll, Kalamboli, Thane
West, Mulund, Ghatkopar, Powai, Goregaon, Malad, Kandivali, Vile Parle, Sanpada, Belapur, Mira Road, Dahisar, Mumbai
Central, CST, Swargate, Shivajinagar, Wakad, Hinjewadi, Baner, Aundh, Katraj, Hadapsar, Viman Nagar, Kharadi, Nigdi,
Chinchwad, Pimpri, Kothrud, Warje, Chandani Chowk, Padmavati, Pune Station, Wagholi, Bavdhan, Magarpatta, Kashmere
Gate, Kashmiri Gate, Anand Vihar, Sarai Kale Khan, ISBT, Majnu Ka Tilla, RK Ashram, Karol Bagh, Dhaula Kuan, Connaught
Place, Nehru Place, Akshardham, Rajiv Chowk, IFFCO Chowk, Mukarba Chowk, Pitampura, Rohini, Dwarka Sector 21, Laxmi
Nagar, Mayur Vihar, Botanical Garden, Pari Chowk, Sector 43, Sector 17, Sector 62, Sindhi Camp, Narayan Singh Circle,
Durgapura, Tonk Road, Chomu Puliya, Transport Nagar, 200 Feet Bypass, Geeta Mandir, Paldi, CTM, Naroda, Bapunagar,
Iskcon, Gita Mandir, Nehru Nagar, Ranip, Adajan, Kamrej, Varachha, Udhna Darwaja, Esplanade, Babughat, Karunamoyee,
Salt Lake, Park Street, Dum Dum, Ultadanga, Garia, Santragachi, Science City, New Town, Alambagh, Charbagh,
Kaiserbagh, Polytechnic, Gomti Nagar, Vijay Nagar, Teen Imli, Sarwate, Dewas Naka, Nadra, ISBT Habibganj, Lalghati,
Bhawarkua, Vyttila, Kaloor, Edappally, Aluva, Kakkanad, Kazhakootam, Technopark, Thampanoor, Palayam, Gandhipuram,
Ukkadam, Singanallur, Hopes, Peelamedu, Mattuthavani, Arapalayam, Periyar, Kaleeswaran, Central Bus Stand, Chatram,
Gajuwaka, Dwaraka Nagar, Maddilapalem, NAD Junction, Benz Circle, Pandit Nehru Bus Station, Autonagar, Ramavarappadu,
Jalukbari, Khanapara, Paltan Bazar, Baramunda, Master Canteen, Rasulgarh, Mithapur, Bairia, Gandhi Maidan, Khadgarha,
Kantatoli, Mapusa Bus Stand, Kadamba, Pumpwell, Jyothi Circle, KSRTC Bus Stand, Central Station, Victoria Coach
Station, Golders Green, Port Authority, Union Station, Penn Station, Times Square, South Station, Downtown, Chinatown,
Gare de Lyon, Bercy, Hauptbahnhof, ZOB, Alexanderplatz, Estacion Sur, Tiburtina, Sants, Florenc, Digbeth, Heathrow,
Gatwick, Terminal 2, Terminal 21, Gate 4, City Centre, Main Square, Roma Street, Southern Cross, Mo Chit, Pudu, TBS,
Kalanki, Gongabu, Thamel, Gabtoli, Sayedabad
""")

POINT_SUFFIXES = _items("""
bus stand, bus stop, bus station, circle, junction, cross, signal, metro station, metro, railway station, station,
toll plaza, toll gate, flyover, bypass, chowk, bridge, mall, market, gate, depot, terminal, main road, ring road,
layout, phase 2, sector 5, temple, petrol pump, police station, hospital, college, x roads, naka, highway, underpass,
park
""")

OPERATORS = _items("""
VRL, VRL Travels, VRL Logistics, SRS, SRS Travels, KSRTC, APSRTC, TSRTC, TGSRTC, MSRTC, GSRTC, RSRTC, UPSRTC, HRTC,
PRTC, OSRTC, UTC, TNSTC, SETC, KTCL, NBSTC, SBSTC, WBTC, BSRTC, PEPSU, HPTDC, NWKRTC, KKRTC, BMTC, CTU, JKSRTC, ASTC,
Kerala RTC, Orange, Orange Travels, Orange Tours and Travels, Kaveri Travels, Morning Star Travels, Sharma Transports,
Sharma Travels, Neeta, Neeta Travels, Neeta Tours and Travels, Paulo Travels, Kallada, Kallada Travels, Suresh
Kallada, KPN, KPN Travels, Parveen, Parveen Travels, SRM Travels, Rathimeena, Rathimeena Travels, ABT, ABT Xpress, YBM
Travels, National Travels, Jabbar Travels, Diwakar Travels, Kesineni, Kesineni Travels, Dhanunjaya Travels, Svkdt
Travels, Sri Krishna Travels, Sugama, Sugama Tourist, Durgamba, Durgamba Motors, Seabird, Seabird Tourists, Canara
Pinto, Ganesh Travels, Anand Travels, Green Line, Greenline Travels, Vijayanand Travels, Hans Travels, Chartered Bus,
Chartered Speed, Verma Travels, Ashok Travels, Intrcity, IntrCity SmartBus, Zingbus, Zing Bus, NueGo, Nuego, FreshBus,
Fresh Bus, LeafyBus, Yolo Bus, YoloBus, Cityflo, Raj Ratan Tours, Laxmi Holidays, Himachal Tourism, Northern Travels,
Gujarat Travels, Eagle, Eagle Travels, Patel Travels, Patel Tours, Shree Nath, Shrinath Travels, Shrinath, Mahasagar
Travels, Tanna Travels, Jakhar Travels, Royal Travels, Prasanna, Prasanna Purple, Purple Travels, Konduskar, Konduskar
Travels, Humsafar Travels, Saini Travels, Khurana Travels, Sangita Travels, Dolphin Travels, Snow Line, Bharathi
Travels, Evacay, Evacay Bus, BSR Tours, Thirumal Azhagu, Universal Travels, A1 Travels, No 1 Air Travels, Maharaja
Travels, City Land Travels, Metro Travels, Vikas Travels, Rajdhani Express, Pawan Travels, Jain Travels, MR Travels,
GDS Travels, AK Travels, RS Yadav, Mahalaxmi Travels, Manish Travels, Essar Travels, Bansal Travels, Kamla Travels,
Ghatge Patil, Dream Line Travels, Atmaram Travels, Shyamoli, Shyamoli Paribahan, Greenline, Network Travels, Kanker
Roadways, Mahendra Travels, Payal Travels, Siddhi Vinayak Travels, Capital Travels, Gola Bus, Komitla Travels, redBus,
Abhibus, RedBus, Flixbus, FlixBus, Flix, Greyhound, Megabus, National Express, Coach USA, Peter Pan, Trailways, Bolt
Bus, BoltBus, Jefferson Lines, OurBus, Vamoose, Wanda Coach, Tornado Bus, Amtrak Thruway, Red Coach, Eurolines,
BlaBlaCar Bus, BlaBlaBus, Ouibus, RegioJet, Student Agency, Leo Express, Alsa, Avanza, Rede Expressos, Marino Bus,
Itabus, Lux Express, Ecolines, PolskiBus, Arriva, Stagecoach, Scottish Citylink, Citylink, Bus Eireann, Aircoach,
Oxford Tube, Vy Express, Nettbuss, Onnibus, Postbus, Metro Turizm, Kamil Koc, Pamukkale, Ulusoy, ADO, Primera Plus,
ETN, Omnibus de Mexico, Cruz del Sur, Oltursa, Civa, Tur Bus, Pullman Bus, Andesmar, Cata Internacional, Cometa,
Catarinense, Intercape, Greyhound Australia, Translux, Eldo Coaches, Easy Coach, Modern Coast, Firefly Express,
Premier Motor Service, Murrays, InterCity, Skip Bus, Nakhonchai Air, Sombat Tour, Transnasional, Plusliner, Aeroline,
Giant Ibis, Mekong Express, Sinh Tourist, Futa Bus, Phuong Trang, Hoang Long, Willer Express, JR Bus, Kobus, Daewoo
Express, Faisal Movers, Hanif Enterprise, Ena Transport, Greenline Paribahan, Emirates Express, Saptco, Jett, Egged,
Go Bus, CTM, Supratours, Maritime Bus
""")

OPERATOR_PREFIXES = _items("Sri, Shree, New, Royal, Jai, Om, Green, Blue, Red, Golden")
OPERATOR_SUFFIXES = _items("""
Travels, Tours, Tours and Travels, Tours & Travels, Transport, Transports, Roadways, Roadlines, Holidays, Tourist,
Coaches, Bus Lines, Motors, Logistics, Lines, Xpress
""")

BUS_TYPES = _items("""
AC, AC, AC, AC, Non-AC, Non-AC, Non-AC, non ac, non ac, nonac, A/C, A/C, Non A/C, non-a/c, ac volvo, a.c., air
conditioned, air-conditioned, non air conditioned, Volvo, Volvo, Volvo, Volvo AC, AC Volvo, Volvo 9600, Volvo B11R,
Volvo multi axle, Volvo multi-axle, multi axle Volvo, multi-axle, multi axle, multiaxle, Volvo 9400, Scania, Scania
multi-axle, Scania AC, Mercedes, Mercedes Benz, Mercedes-Benz, Bharat Benz, BharatBenz, Tata, Ashok Leyland, Isuzu,
MAN, Benz, electric, EV, electric AC, AC electric, CNG, hybrid, luxury, luxury AC, super luxury, premium, deluxe,
super deluxe, semi deluxe, AC deluxe, non-ac deluxe, ultra deluxe, express, super express, ordinary, superfast, super
fast, limited stop, rajdhani, Airavat, Airavat Club Class, Airavat Gold Class, Ambaari, Ambari Utsav, Garuda, Garuda
Plus, Amaravathi, Indra, Vennela, Dolphin Cruise, Rajahamsa, Rajahamsa Executive, Karnataka Sarige, Shivneri,
Shivshahi, Ashwamedh, Hirkani, Asiad, Lahari, Himsuta, Himmani, Jan Rath, Pink Express, Swift Deluxe, Minnal, Super
Deluxe, Palle Velugu, double decker, double-decker, mini, minibus, tempo traveller, coach class, executive, hi-tech,
hitech, AC hi-tech, video coach, low floor, ac luxury, vip
""")

SEAT_TYPES = _items("""
sleeper, sleeper, sleeper, sleeper, sleeper, seater, seater, seater, semi sleeper, semi-sleeper, semi sleeper,
semisleeper, seater sleeper, seater/sleeper, sleeper seater, window seat, window seats, window, aisle seat, aisle,
lower berth, upper berth, lower berths, upper berths, single berth, double berth, side berth, lower deck, upper deck,
lower sleeper, upper sleeper, single sleeper, double sleeper, sleeper berth, sleeper berths, sleeper seat, sleeper
seats, single seat, single seats, double seat, twin seat, front seat, front row, front row seat, last row seat, back
seat, middle seat, push back, pushback, push-back, push back seat, pushback seats, recliner, reclining, reclining
seat, reclining seats, 2+1 sleeper, 2+1, 2+2, 2+2 seater, 2 + 1 sleeper, 1+1, 2+2 push back, ladies seat, ladies
seats, women's seat, corner seat, seater seat, lower, upper, flat bed, lie flat, lie-flat, bunk, cabin, suite,
couchette, extra legroom seat, executive seat, business class, first class
""")

DAY_PARTS = _items("""
morning, evening, night, afternoon, early morning, late night, late evening, midnight, noon, midday, dawn, overnight,
tonight, this morning, this evening, this afternoon, mid night, mid morning, late afternoon, early evening, nite,
dusk, sunrise, lunchtime, mid day, midnite, tonite, 2nite, early mrng, mrng, eve
""")

WEEKDAYS = _items("Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday")
WEEKDAYS_SHORT = _items("Mon, Tue, Tues, Wed, Thu, Thur, Thurs, Fri, Sat, Sun")
MONTHS = _items("""
January, February, March, April, May, June, July, August, September, October, November, December
""")
MONTHS_SHORT = _items("Jan, Feb, Mar, Apr, Jun, Jul, Aug, Sep, Sept, Oct, Nov, Dec")

RELATIVE_DATES = _items("""
today, today, today, tomorrow, tomorrow, tomorrow, tomorrow, tomorrow, tmrw, tmr, tmw, tomo, 2moro, tmrow, tommorow,
tommorrow, tomorow, 2day, day after tomorrow, day after tomorrow, day after, day after tmrw, day after tom, this
weekend, next weekend, coming weekend, weekend, next week, this week, next month, this month, end of the month, month
end, weekend after next, a week from now, two days from now, 3 days from now, same day, Diwali, Deepavali, Holi,
Dussehra, Pongal, Sankranti, Onam, Eid, Christmas, Christmas Eve, New Year's Eve, new year, Republic Day, Independence
Day, Ganesh Chaturthi, Durga Puja, Easter, Good Friday, Thanksgiving, Labor Day, Labour Day, Gandhi Jayanti, Ugadi,
Navratri, Raksha Bandhan
""")

# Words of everyday English, strung together at random as talk that carries no entity.
COMMON_WORDS = _items("""
the, a, an, this, that, these, my, our, your, his, her, their, some, every, each, other, same, such, is, are, was,
were, be, been, am, has, have, had, do, does, did, will, would, can, could, should, may, might, must, not, never,
always, often, maybe, perhaps, just, still, already, even, only, also, too, very, quite, really, so, because, since,
while, if, unless, though, but, or, and, then, than, when, where, why, who, what, how, whether, anything, something,
nothing, everyone, somebody, people, family, friends, kids, children, mother, father, daughter, son, wife, husband,
uncle, aunt, boss, team, colleague, student, doctor, driver, exam, meeting, wedding, party, holiday, vacation, work,
office, home, house, school, project, visa, job, interview, festival, concert, match, game, weather, rain, traffic,
food, water, snacks, music, phone, charger, wallet, money, price, fare, cost, discount, coupon, offer, refund,
luggage, bag, suitcase, pet, dog, seat number, passenger, crew, staff, review, rating, app, website, email, message,
call, payment, card, cash, upi, receipt, invoice, account, password, want, need, know, think, hope, wish, like, love,
hate, prefer, plan, try, ask, tell, say, see, look, find, check, pay, buy, sell, send, share, bring, carry, keep,
leave behind, forget, remember, wait, hurry, sleep, rest, eat, drink, talk, meet, join, miss, catch up, arrange,
confirm, change, cancel, good, bad, nice, cheap, expensive, clean, dirty, safe, late, early enough, quick, slow, long,
short, easy, hard, comfortable, crowded, empty, full, free, busy, sick, tired, happy, sorry, sure, ready, possible,
available, important, urgent, different, better, worse, best, less, more, most, many, much, few, enough, another,
again, ago, earlier, later, soon, now, once, twice, usually, actually, honestly, probably, definitely, please, thanks,
kindly, ok, yes, no, well, oh, hmm, btw, fyi, way, thing, trip, journey, ride, stop, route, day, hour, minutes, with,
without, about, of, in, on, under, over, during, until, into, off, up, down, out, around here, along, across, there,
here, back, away, together
""")

ODDITIES = "? ! . - : # * % ~ | _ + = < ^ ... :) ;) \U0001F60A \U0001F64F \U0001F68C नमस्ते 你好 привет مرحبا こんにちは".split()
